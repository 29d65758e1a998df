/** Who a server knows: its own tokens, client certificates, the token file; others are anonymous or refused. */
import { type Authenticator, orAnonymous, union, withAuthenticatedGroup } from "#authn/authenticator.ts";
import { bearerToken } from "#authn/bearer-token.ts";
import { clientCertificate } from "#authn/client-certificate.ts";
import { readTokenFile } from "#authn/token-file.ts";
import type { AccessConfig } from "./access.ts";

export function serverAuthenticator(config: AccessConfig): Authenticator {
  const { options, domain, clock, log } = config;
  const own = readTokenFile(
    `${config.adminToken},admin,,"system:masters"\n${config.loopbackToken},system:apiserver,,"system:masters"\n`,
    "the server's own tokens",
  );
  const given = config.plan.tokens === undefined ? [] : [config.plan.tokens];
  for (const { warnings } of given) for (const text of warnings) log.warn({}, text);
  const inner = union([clientCertificate({ domain, clock }), bearerToken([own, ...given])]);
  const known = withAuthenticatedGroup(inner);
  return options.anonymousAuth ? orAnonymous(known) : known;
}
