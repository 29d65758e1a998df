/** Who a server knows and what they may do, opened together: both read files that may change and objects that do. */
import type { Authenticator } from "#authn/authenticator.ts";
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { NodeGraph } from "#authz/node-graph.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { serverAuthenticators } from "./authentication.ts";
import { serverAuthorizer } from "./authorization.ts";
import type { Lookups } from "./lookups.ts";

export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Required<Authorizer>;
  /** Every kind of bearer token, for reviews of tokens. */
  readonly tokens: TokenAuthenticator;
  /** Stops watching files and asking others. */
  close(): void;
}

export interface AccessConfig extends AssembleConfig {
  readonly lookups: Lookups;
  /** Of the server itself; there before the first request. */
  readonly client: () => RestClient;
  /** Users of the server itself about whom roles alone decide; known by the objects, which nobody else has. */
  readonly ownUsers: WeakSet<UserInfo>;
  /** Roles and bindings, always up to date with acknowledged writes. */
  readonly rbacIndex: RbacIndex;
  /** Which objects nodes have to do with; empty unless the Node authorizer runs. */
  readonly nodeGraph: NodeGraph;
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
