/** Flags of authentication. */
import { boolean, duration, list, optional, type OptionsOf } from "#std/flags.ts";

const authentication = (name: string) => [name, "Authentication"] as const;

export const authenticationFlags = {
  tokenAuthFile: optional(
    authentication("token-auth-file"),
    "file",
    'Fixed tokens: lines of token,user,uid,"group1,group2".',
  ),
  enableBootstrapTokenAuth: boolean(
    authentication("enable-bootstrap-token-auth"),
    false,
    "Take bootstrap tokens, kept as Secrets of the system namespace.",
  ),
  apiAudiences: list(
    authentication("api-audiences"),
    "names",
    "Names of this server: a token must be meant for one of them. Default: the issuer of service account tokens.",
  ),
  serviceAccountIssuer: list(
    authentication("service-account-issuer"),
    "urls",
    "Who issues service account tokens; the first is named in new ones, all are taken. Default: https://kubernetes.default.svc.cluster.local.",
    (issuer) => (issuer.includes(":") && !URL.canParse(issuer) ? "contains a ':' but is no URL" : undefined),
  ),
  serviceAccountKeyFile: list(
    authentication("service-account-key-file"),
    "files",
    "Keys (PEM, public or private, RSA or ECDSA) that service account tokens are verified with, beside the signing key. Default: --tls-private-key-file.",
  ),
  serviceAccountSigningKeyFile: optional(
    authentication("service-account-signing-key-file"),
    "file",
    "Private key (PEM) that signs service account tokens. Made at the first start when not given.",
  ),
  serviceAccountJwksUri: optional(
    authentication("service-account-jwks-uri"),
    "url",
    "Where the discovery document says the public keys are, when not at this server.",
  ),
  serviceAccountLookup: boolean(
    authentication("service-account-lookup"),
    true,
    "Refuse tokens of Secrets and service accounts that are gone.",
  ),
  serviceAccountMaxTokenExpirationMs: duration(
    authentication("service-account-max-token-expiration"),
    0,
    "Longest life of a token that is asked for; 0 for no bound.",
  ),
  serviceAccountExtendTokenExpiration: boolean(
    authentication("service-account-extend-token-expiration"),
    true,
    "Let tokens that are put into pods live for a year, and tell the audit log when one is used beyond its hour.",
  ),
};

export type AuthenticationFlags = OptionsOf<typeof authenticationFlags>;
