/**
 * Authentication of a server. The order is upstream's: the server itself, its administrator, the token file, service
 * accounts, bootstrap tokens, and external authenticators. Other requests are anonymous or refused.
 */
import { type Authenticator, orAnonymous, union, withAuthenticatedGroup } from "#authn/authenticator.ts";
import { bearerToken, forAudiences, type TokenAuthenticator, tokenUnion } from "#authn/bearer-token.ts";
import { bootstrapTokens } from "#authn/bootstrap-token.ts";
import type { CodeIssuer } from "#authn/code-exchange.ts";
import { ServiceAccountTokens } from "#authn/service-account-token.ts";
import { readTokenFile } from "#authn/token-file.ts";
import { webSocketToken } from "#authn/websocket-token.ts";
import type { Secret } from "#api/core/v1.ts";
import { observeAuthenticator, tokenUseCounter } from "./authentication/metrics.ts";
import { externalAuthenticators } from "./authentication/external.ts";
import type { AuthenticationParts } from "./authentication/parts.ts";
import { ownRequests } from "./in-process-transport.ts";

export interface ServerAuthenticators {
  readonly authenticator: Authenticator;
  /** Authenticates every kind of bearer token, for token reviews. */
  readonly tokens: TokenAuthenticator;
  /** Returns the identity providers at which people may sign in. */
  issuers(): readonly CodeIssuer[];
  close(): void;
}

export async function serverAuthenticators(parts: AuthenticationParts): Promise<ServerAuthenticators> {
  const { options, domain, clock, log, metrics, lookups } = parts;
  const { issuer } = parts.plan;
  const own = readTokenFile(`${parts.adminToken},admin,,"system:masters"\n`, "the server's own token");
  const tokenFiles = parts.plan.tokens === undefined ? [] : [parts.plan.tokens];
  for (const { warnings } of tokenFiles) for (const text of warnings) log.warn({}, text);
  const find = lookups.get.bind(lookups);
  const accounts = new ServiceAccountTokens({
    domain,
    clock,
    issuers: issuer.issuers,
    keys: issuer.keys,
    audiences: issuer.audiences,
    lookup: options.serviceAccountLookup,
    find,
    usedSecret: secretMarker(parts),
    count: tokenUseCounter(metrics),
  });
  const bootstrap = options.enableBootstrapTokenAuth ? [bootstrapTokens({ domain, clock, find })] : [];
  const external = await externalAuthenticators(parts);
  const tokens = [own, ...tokenFiles, accounts, ...bootstrap, ...external.tokens].map((kind) =>
    forAudiences(issuer.audiences, kind),
  );
  const authenticated = withAuthenticatedGroup(
    union([ownRequests, ...external.first, bearerToken(tokens), webSocketToken(tokens, domain)]),
  );
  const { enabled, paths } = external.anonymous;
  return {
    authenticator: observeAuthenticator(enabled ? orAnonymous(authenticated, paths) : authenticated, metrics, clock),
    tokens: tokenUnion(tokens),
    issuers: external.issuers,
    close: () => external.close(),
  };
}

/**
 * Returns the function that records the day of a token's last use on its Secret, so that unused tokens can be found. It
 * runs in the background; a failed write is repeated at the next use.
 */
function secretMarker({ domain, log, client }: AuthenticationParts): (secret: Secret, day: string) => void {
  const label = domain.rename("kubernetes.io/legacy-token-last-used");
  const underWay = new Set<string>();
  return ({ metadata: { namespace = "", name = "", uid = "" } }, day) => {
    if (underWay.has(uid)) return;
    underWay.add(uid);
    client
      .patch(`/api/v1/namespaces/${namespace}/secrets/${name}`, { metadata: { uid, labels: { [label]: day } } })
      .catch((error: unknown) => log.debug({ error, namespace, secret: name }, "cannot note the use of a token"))
      .finally(() => underWay.delete(uid));
  };
}
