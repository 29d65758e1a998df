/**
 * External authenticators: client certificates, authenticating proxy, identity providers (OpenID Connect), token
 * webhook; and anonymous requests.
 */
import type { Authenticator } from "#authn/authenticator.ts";
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import { clientCertificate } from "#authn/client-certificate.ts";
import { identityHeaderTest, type RequestHeaderNames, requestHeader, standardHeaders } from "#authn/request-header.ts";
import type { ExternalAuthenticationFlags } from "./external-flags.ts";
import type { AuthenticationParts } from "./parts.ts";

interface ExternalAuthenticators {
  /** The authenticating proxy; asked first. */
  readonly requestHeader?: Authenticator;
  /** The authenticator that is asked after that of the proxy. */
  readonly clientCertificate: Authenticator;
  /** OpenID Connect, then the webhook; asked after the server's own tokens. */
  readonly tokens: readonly TokenAuthenticator[];
  /** No paths: all of them. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] };
  close(): void;
}

export async function externalAuthenticators(parts: AuthenticationParts): Promise<ExternalAuthenticators> {
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
    ...(proxy === undefined ? {} : { requestHeader: proxy }),
    clientCertificate: clientCertificate({ domain, clock, authorities: () => clientTrust.clients }),
    tokens: [providers, webhook].flatMap((opened) => opened?.tokens ?? []),
    anonymous: external?.anonymous ?? { enabled: mayBeAnonymous(parts), paths: [] },
    close() {
      providers?.close();
      webhook?.close();
    },
  };
}

/** Anonymous requests are refused with AlwaysAllow, whatever the flag says. Upstream does the same. */
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
 * The headers of the flags, or the usual ones when no flag names any. A proxy with other names may pass on the usual
 * headers as its clients sent them, so they count only when no flag names headers.
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

/** Headers that the chain hides behind authentication. */
export function hiddenHeaders(options: ExternalAuthenticationFlags): (name: string) => boolean {
  return identityHeaderTest([standardHeaders, headerNames(options)]);
}
