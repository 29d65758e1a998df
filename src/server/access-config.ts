/** The settings of authentication and authorization. */
import type { NodeGraph } from "#authz/node-graph.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import type { Lookups } from "./lookups.ts";

export interface AccessConfig extends AssembleConfig {
  readonly lookups: Lookups;
  /** Of the server itself; answers once there is a pipeline. */
  readonly client: RestClient;
  /** The server's own users, decided by RBAC alone. Identified by object, which no other code has. */
  readonly ownUsers: WeakSet<UserInfo>;
  /** Roles and bindings, always up to date with acknowledged writes. */
  readonly rbacIndex: RbacIndex;
  /** Which objects nodes have to do with; empty unless the Node authorizer runs. */
  readonly nodeGraph: NodeGraph;
}
