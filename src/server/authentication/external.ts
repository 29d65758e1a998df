/**
 * External authenticators: client certificates, authenticating proxy, identity providers (OpenID Connect), token
 * webhook; and anonymous requests.
 */
import type { Authenticator } from "#authn/authenticator.ts";
import { clientCertificate } from "#authn/client-certificate.ts";
import { identityHeaderTest, type RequestHeaderNames, requestHeader, standardHeaders } from "#authn/request-header.ts";
import type { Metrics } from "#std/metrics.ts";
import type { ExternalAuthenticationFlags } from "./external-flags.ts";
import type { AuthenticationParts } from "./parts.ts";

export async function externalAuthenticators(parts: AuthenticationParts) {
  const { domain, clock, clientTrust, plan } = parts;
  const { external, issuer } = plan;
  const proxy = proxyAuthenticator(parts);
  const providers =
    external === undefined
      ? undefined
      : (await import("./identity-providers.ts")).openIdentityProviders(parts, external);
  const webhook =
    external?.webhook === undefined
      ? undefined
      : (await import("./token-webhook.ts")).openTokenWebhook(parts, external.webhook, issuer.audiences);
  return {
    /** The authenticating proxy, if there is one, and then client certificates. */
    first: [
      ...(proxy === undefined ? [] : [proxy]),
      clientCertificate({
        domain,
        clock,
        authorities: () => clientTrust.clients,
        observeLifetime: certificateLifetimes(parts.metrics),
      }),
    ],
    /** OpenID Connect, then the webhook. They come after the server's own tokens. */
    tokens: [providers?.tokens, webhook].filter((opened) => opened !== undefined),
    /** Returns the identity providers at which people may sign in. */
    issuers: providers?.issuers ?? (() => []),
    /** The setting for anonymous requests; with empty `paths` it holds for all paths. */
    anonymous: external?.anonymous ?? { enabled: mayBeAnonymous(parts), paths: [] },
    close(): void {
      providers?.close();
      webhook?.close();
    },
  };
}

const [hour, day] = [3_600, 86_400];

function certificateLifetimes(metrics: Metrics): (seconds: number) => void {
  const lifetimes = metrics.histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "Time for which the client certificates of requests stay valid.",
    buckets: [0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, ...[1, 2, 4, 7, 30, 90, 180, 360].map((n) => n * day)],
  });
  const all = lifetimes.with();
  return (seconds) => all.observe(seconds);
}

/** Returns whether anonymous requests are allowed. As upstream, they never are with AlwaysAllow. */
function mayBeAnonymous({ options: { anonymousAuth, authorizationMode }, log }: AuthenticationParts): boolean {
  if (!authorizationMode.includes("AlwaysAllow")) return anonymousAuth ?? true;
  if (anonymousAuth === true) log.warn({}, "--anonymous-auth does not count with the authorization mode AlwaysAllow");
  return false;
}

function proxyAuthenticator({ options, clock, clientTrust, log }: AuthenticationParts): Authenticator | undefined {
  const { proxies } = clientTrust;
  const allowedNames = options.requestheaderAllowedNames;
  if (proxies === undefined) return undefined;
  if (allowedNames.length === 0 && proxies.overlaps(clientTrust.clients)) {
    log.warn(
      {},
      "every client of an authority in --requestheader-client-ca-file may speak for anybody: it is one of --client-ca-file too, and --requestheader-allowed-names is not set",
    );
  }
  return requestHeader({
    clock,
    authorities: () => clientTrust.proxies ?? proxies,
    allowedNames,
    names: headerNames(options),
  });
}

/**
 * Returns the headers that flags name, or the usual headers when no flag names any. A proxy that uses other headers may
 * pass on the usual ones from its clients, so the usual headers count only without these flags.
 */
function headerNames(options: ExternalAuthenticationFlags): RequestHeaderNames {
  const lower = (names: readonly string[]): readonly string[] => names.map((name) => name.toLowerCase());
  const names: RequestHeaderNames = {
    users: lower(options.requestheaderUsernameHeaders),
    uids: lower(options.requestheaderUidHeaders),
    groups: lower(options.requestheaderGroupHeaders),
    extraPrefixes: lower(options.requestheaderExtraHeadersPrefix),
  };
  return Object.values(names).every(({ length }) => length === 0) ? standardHeaders : names;
}

/** Returns whether the chain hides a header after authentication. */
export function hiddenHeaders(options: ExternalAuthenticationFlags): (name: string) => boolean {
  return identityHeaderTest([standardHeaders, headerNames(options)]);
}
