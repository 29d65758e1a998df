/** Opens authentication and authorization together; both follow files and objects that may change. */
import type { Authorizer } from "#authz/authorizer.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { type ServerAuthenticators, serverAuthenticators } from "./authentication.ts";
import { serverAuthorizer } from "./authorization.ts";
import type { ServerState } from "./state.ts";
import type { AssembleConfig } from "./assemble-config.ts";

export interface Access extends ServerAuthenticators {
  readonly authorizer: Required<Authorizer>;
  /** Stops watching files, and closes the connections to webhooks and identity providers. */
  close(): void;
}

/** `client` is the client of the server itself; only RBAC decides about `ownUsers`. */
export async function openAccess(
  config: AssembleConfig,
  state: ServerState,
  client: RestClient,
  ownUsers: WeakSet<UserInfo>,
): Promise<Access> {
  const { authentication, authorization, kinds } = config.plans;
  const authenticators = await serverAuthenticators({ ...config, ...state, plan: authentication, client });
  const authorizers = await serverAuthorizer({ ...config, ...state, ...kinds, plan: authorization, ownUsers });
  return {
    ...authenticators,
    authorizer: authorizers.authorizer,
    close() {
      authenticators.close();
      authorizers.close();
    },
  };
}
