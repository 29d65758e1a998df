/**
 * Authorization of a server: `system:masters` may do everything, built-in controllers have the rights of their roles,
 * and the configured authorizers decide about other users.
 */
import { type Authorizer, union } from "#authz/authorizer.ts";
import type { NodeGraph } from "#authz/node-graph.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { rbac } from "#authz/rbac.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import { type PreparedRule, compileRule } from "#authz/rules.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import { groupMasters, type UserInfo } from "#meta/user-info.ts";
import { type AuthorizerChain, openAuthorizers } from "./authorization/external.ts";
import type { AuthorizationPlan } from "./authorization/plan.ts";
import type { ServerParts } from "./server-parts.ts";

interface AuthorizationParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics" | "egress"> {
  readonly plan: AuthorizationPlan;
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly rbacIndex: RbacIndex;
  readonly nodeGraph: NodeGraph;
  /**
   * The server's own users, for whom only RBAC decides. A user is recognized by object identity, so no other code can
   * pretend to be one.
   */
  readonly ownUsers: WeakSet<UserInfo>;
}

export async function serverAuthorizer(parts: AuthorizationParts): Promise<AuthorizerChain> {
  const { domain, gates, nodeGraph, ownUsers } = parts;
  const roles = rbac(parts.rbacIndex, parts.clock);
  const selectors = gates.isOn("AuthorizeWithSelectors");
  const chain = await openAuthorizers({
    ...parts,
    selectors,
    rbac: roles,
    async node() {
      const { node } = await import("#authz/node.ts");
      return node({
        domain,
        graph: nodeGraph,
        rules: nodeRules(parts),
        selectors: selectors && gates.isOn("AuthorizeNodeWithSelectors"),
      });
    },
  });
  const others = byRolesAlone((user) => ownUsers.has(user), union([roles]), chain.authorizer);
  return { authorizer: union([privilegedGroups([groupMasters]), others]), close: () => chain.close() };
}

/** Returns an authorizer that asks only `roles` about the server's own users, and `others` about all other users. */
function byRolesAlone(
  isOwn: (user: UserInfo) => boolean,
  roles: Required<Authorizer>,
  others: Required<Authorizer>,
): Required<Authorizer> {
  const of = (user: UserInfo): Required<Authorizer> => (isOwn(user) ? roles : others);
  return {
    authorize: (attributes) => of(attributes.user).authorize(attributes),
    rulesFor: (user, namespace) => of(user).rulesFor(user, namespace),
    explain: (attributes) => of(attributes.user).explain(attributes),
  };
}

/** Returns the rules of the role that nodes had before the Node authorizer existed. */
function nodeRules({ domain, gates }: AuthorizationParts): readonly PreparedRule[] {
  const policy = bootstrapPolicy(domain, gates.isOn);
  const role = policy.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "system:node");
  return role === undefined || "roleRef" in role ? [] : (role.rules ?? []).map(compileRule);
}
