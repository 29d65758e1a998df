/**
 * Those who are known by others' word: client certificates, an authenticating proxy, identity providers (OpenID
 * Connect), a token webhook; and who may be anonymous.
 */
import type { Authenticator } from "#authn/authenticator.ts";
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import { clientCertificate } from "#authn/client-certificate.ts";
import { identityHeaders, type RequestHeaderNames, requestHeader, standardHeaders } from "#authn/request-header.ts";
import { WebhookTokens } from "#authn/webhook-token.ts";
import type { Clock } from "#std/clock.ts";
import type { AccessConfig } from "./access.ts";
import { openIdentityProviders } from "./identity-providers.ts";
import type { ServerOptions } from "./options.ts";
import { reloadMetrics } from "./reload-metrics.ts";
import { openWebhook, type WebhookConnection } from "./webhook-connection.ts";

export interface ExternalAuthenticators {
  /** The authenticating proxy; asked first. */
  readonly requestHeader?: Authenticator;
  /** Asked after the proxy. */
  readonly clientCertificate: Authenticator;
  /** OpenID Connect, then the webhook; asked after the server's own tokens. */
  readonly tokens: readonly TokenAuthenticator[];
  /** No paths: all of them. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] };
  close(): void;
}

export function externalAuthenticators(config: AccessConfig): ExternalAuthenticators {
  const { options, domain, clock, clientTrust, external, log, metrics } = config;
  const proxy = proxyAuthenticator(config);
  const providers = openIdentityProviders({
    plan: external,
    file: options.authenticationConfig,
    clock,
    log,
    count: reloadMetrics(metrics, "authentication", clock),
  });
  const webhook = external.webhook === undefined ? undefined : openWebhookTokens(config, external.webhook);
  return {
    ...(proxy === undefined ? {} : { requestHeader: proxy }),
    clientCertificate: clientCertificate({ domain, clock, authorities: () => clientTrust.clients }),
    tokens: [providers.tokens, ...(webhook === undefined ? [] : [webhook.tokens])],
    anonymous: external.anonymous ?? { enabled: mayBeAnonymous(config), paths: [] },
    close() {
      providers.close();
      webhook?.close();
    },
  };
}

/** Who may do everything must be known: the flag does not count then. Upstream does the same. */
function mayBeAnonymous({ options: { anonymousAuth, authorizationMode }, log }: AccessConfig): boolean {
  if (!authorizationMode.includes("AlwaysAllow")) return anonymousAuth ?? true;
  if (anonymousAuth === true) log.warn({}, "--anonymous-auth does not count with the authorization mode AlwaysAllow");
  return false;
}

function openWebhookTokens(
  { options, domain, clock, log, issuer }: AccessConfig,
  connection: WebhookConnection,
): { readonly tokens: TokenAuthenticator; close(): void } {
  const outgoing = openWebhook(connection, clock);
  const tokens = new WebhookTokens({
    url: connection.url,
    headers: connection.headers,
    outgoing,
    apiVersion: domain.rename(`authentication.k8s.io/${options.authenticationTokenWebhookVersion}`),
    audiences: issuer.audiences,
    cacheTtlMs: options.authenticationTokenWebhookCacheTtlMs,
    clock,
    failed: seldom(clock, (error) => log.error({ error }, "the token webhook gave no answer")),
  });
  return {
    tokens,
    close() {
      tokens.close();
      outgoing.close();
    },
  };
}

const sayAgainMs = 10_000;

/** What fails for every request is said now and then. */
function seldom(clock: Clock, say: (error: unknown) => void): (error: unknown) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonic() - saidMs < sayAgainMs) return;
    saidMs = clock.monotonic();
    say(error);
  };
}

function proxyAuthenticator({ options, clock, clientTrust, log }: AccessConfig): Authenticator | undefined {
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
 * What the flags say; with none of them what proxies usually send. A proxy that was told other names may pass on the
 * usual ones as its clients sent them, so they count only when nothing is said.
 */
function headerNames(options: ServerOptions): RequestHeaderNames {
  const lower = (names: readonly string[]): readonly string[] => names.map((name) => name.toLowerCase());
  const names: RequestHeaderNames = {
    users: lower(options.requestheaderUsernameHeaders),
    uids: lower(options.requestheaderUidHeaders),
    groups: lower(options.requestheaderGroupHeaders),
    extraPrefixes: lower(options.requestheaderExtraHeadersPrefix),
  };
  return Object.values(names).every(({ length }) => length === 0) ? standardHeaders : names;
}

/** For the chain: which headers nobody behind authentication may see. */
export function hiddenHeaders(options: ServerOptions): (name: string) => boolean {
  return identityHeaders([standardHeaders, headerNames(options)]);
}
