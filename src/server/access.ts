/** Opens authentication and authorization together; both follow files and objects that may change. */
import type { Authenticator } from "#authn/authenticator.ts";
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { AccessConfig } from "./access-config.ts";
import { serverAuthenticators } from "./authentication.ts";
import { serverAuthorizer } from "./authorization.ts";

export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Required<Authorizer>;
  /** Every kind of bearer token, for reviews of tokens. */
  readonly tokens: TokenAuthenticator;
  /** Stops watching files and asking others. */
  close(): void;
}

export async function openAccess(config: AccessConfig): Promise<Access> {
  const { authenticator, tokens, close } = await serverAuthenticators(config);
  const chain = await serverAuthorizer(config);
  return {
    authenticator,
    authorizer: chain.authorizer,
    tokens,
    close() {
      close();
      chain.close();
    },
  };
}
