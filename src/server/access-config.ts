/** The settings of authentication and authorization. */
import type { RestClient } from "#client/rest-client.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import type { ServerState } from "./state.ts";

export interface AccessConfig extends AssembleConfig, Pick<ServerState, "lookups" | "rbacIndex" | "nodeGraph"> {
  /** The server itself asks with it; it is answered once there is a pipeline. */
  readonly client: RestClient;
  /** The server's own users, decided by RBAC alone. Identified by object, which no other code has. */
  readonly ownUsers: WeakSet<UserInfo>;
}
