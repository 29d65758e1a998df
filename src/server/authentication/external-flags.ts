/** Flags of external authenticators and anonymous requests. Names and defaults are upstream's. */
import { boolean, choice, duration, type Flag, list, optional, type OptionsOf, text } from "#std/flags.ts";

const authentication = (name: string) => [name, "Authentication"] as const;

export const signingAlgorithms = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

const headerName = (name: string): string | undefined =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) ? undefined : "must be the name of a header";

const explicitAnonymousAuth = boolean(
  authentication("anonymous-auth"),
  true,
  "Take requests without credentials as system:anonymous.",
);

/** True by default. An unset flag differs from a flag set to true, because a configuration file may also decide. */
const anonymousAuth: Flag<boolean | undefined> = {
  ...explicitAnonymousAuth,
  default: undefined,
  print: (value) => ((value ?? true) ? "true" : ""),
  check: (value, refuse) => (value === undefined ? undefined : explicitAnonymousAuth.check(value, refuse)),
};

/** A value may contain commas, so the flag is given once for each claim. */
const oidcRequiredClaim: Flag<readonly string[]> = {
  ...list(
    authentication("oidc-required-claim"),
    "claim=value",
    "A claim that tokens must have, with its value; repeat the flag for several.",
    (claim) => (claim.indexOf("=") < 1 ? "must be claim=value" : undefined),
  ),
  parse: (value, _, before = []) => [...before, value],
};

export const externalAuthenticationFlags = {
  anonymousAuth,
  authenticationConfig: optional(
    authentication("authentication-config"),
    "file",
    "AuthenticationConfiguration: identity providers and who may be anonymous; read again when it changes. Not with --oidc-* flags.",
  ),
  authenticationTokenWebhookConfigFile: optional(
    authentication("authentication-token-webhook-config-file"),
    "file",
    "Kubeconfig of a webhook that is asked about bearer tokens nobody here knows.",
  ),
  authenticationTokenWebhookVersion: choice(
    authentication("authentication-token-webhook-version"),
    "v1beta1",
    ["v1", "v1beta1"],
    "Version of the TokenReview the webhook is sent.",
  ),
  authenticationTokenWebhookCacheTtlMs: duration(
    authentication("authentication-token-webhook-cache-ttl"),
    120_000,
    "How long an answer of the webhook counts.",
  ),
  oidcIssuerUrl: optional(
    authentication("oidc-issuer-url"),
    "url",
    "Identity provider (OpenID Connect) whose ID tokens are taken; https only.",
  ),
  oidcClientId: optional(authentication("oidc-client-id"), "id", "Audience that ID tokens must be meant for."),
  oidcCaFile: optional(
    authentication("oidc-ca-file"),
    "file",
    "Certificates (PEM) that the identity provider is trusted by; the machine's own by default.",
  ),
  oidcUsernameClaim: text(authentication("oidc-username-claim"), "sub", "claim", "Claim that holds the user's name."),
  oidcUsernamePrefix: optional(
    authentication("oidc-username-prefix"),
    "text",
    "Put before every user name; - for nothing. By default the issuer's URL and #, except for the claim email.",
  ),
  oidcGroupsClaim: optional(
    authentication("oidc-groups-claim"),
    "claim",
    "Claim that holds the user's groups, a text or a list of them.",
  ),
  oidcGroupsPrefix: optional(authentication("oidc-groups-prefix"), "text", "Put before every group."),
  oidcRequiredClaim,
  oidcSigningAlgs: {
    ...list(authentication("oidc-signing-algs"), "names", "Algorithms that ID tokens may be signed with.", (name) =>
      signingAlgorithms.includes(name) ? undefined : `must be one of ${signingAlgorithms.join(", ")}`,
    ),
    default: ["RS256"],
  },
  requestheaderAllowedNames: list(
    authentication("requestheader-allowed-names"),
    "names",
    "Common names of authenticating proxies; none for any that --requestheader-client-ca-file trusts.",
  ),
  requestheaderUsernameHeaders: list(
    authentication("requestheader-username-headers"),
    "names",
    "Headers with the user's name. If none of these four flags is set: X-Remote-User, X-Remote-Uid, X-Remote-Group, X-Remote-Extra-.",
    headerName,
  ),
  requestheaderUidHeaders: list(
    authentication("requestheader-uid-headers"),
    "names",
    "Headers with the user's uid.",
    headerName,
  ),
  requestheaderGroupHeaders: list(
    authentication("requestheader-group-headers"),
    "names",
    "Headers with the user's groups.",
    headerName,
  ),
  requestheaderExtraHeadersPrefix: list(
    authentication("requestheader-extra-headers-prefix"),
    "prefixes",
    "Beginnings of headers with extra values of the user; the rest is the key.",
    headerName,
  ),
};

export type ExternalAuthenticationFlags = OptionsOf<typeof externalAuthenticationFlags>;

/** Whether any `--oidc-*` flag is set. */
export function hasOidcFlags(options: ExternalAuthenticationFlags): boolean {
  const texts = [
    options.oidcIssuerUrl,
    options.oidcClientId,
    options.oidcCaFile,
    options.oidcUsernamePrefix,
    options.oidcGroupsClaim,
    options.oidcGroupsPrefix,
  ];
  return (
    texts.some((text) => text !== undefined) ||
    options.oidcRequiredClaim.length > 0 ||
    options.oidcUsernameClaim !== "sub" ||
    options.oidcSigningAlgs.join(",") !== "RS256"
  );
}
