/**
 * Authorization of a server: `system:masters` may do everything, built-in controllers have the rights of their roles,
 * and the configured authorizers decide about other users.
 */
import { type Authorizer, union } from "#authz/authorizer.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { rbac } from "#authz/rbac.ts";
import { type PreparedRule, compileRule } from "#authz/rules.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import { groupMasters, type UserInfo } from "#meta/user-info.ts";
import type { AccessConfig } from "./access-config.ts";
import { type AuthorizerChain, openAuthorizers } from "./authorization/external.ts";

export async function serverAuthorizer(config: AccessConfig): Promise<AuthorizerChain> {
  const { domain, nodeGraph, serving } = config;
  const roles = rbac(config.rbacIndex, config.clock);
  const selectors = serving.gates.isOn("AuthorizeWithSelectors");
  const chain = await openAuthorizers({
    ...config,
    selectors,
    rbac: roles,
    async node() {
      const { node } = await import("#authz/node.ts");
      return node({
        domain,
        graph: nodeGraph,
        rules: nodeRules(config),
        selectors: selectors && serving.gates.isOn("AuthorizeNodeWithSelectors"),
      });
    },
  });
  const others = byRolesAlone((user) => config.ownUsers.has(user), union([roles]), chain.authorizer);
  return { authorizer: union([privilegedGroups([groupMasters]), others]), close: () => chain.close() };
}

/** Asks `roles` alone about users of the server itself, and `others` about everybody else. */
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

/** Returns the rules of the role that nodes had before there was an authorizer of their own. */
function nodeRules({ domain, serving }: AccessConfig): readonly PreparedRule[] {
  const policy = bootstrapPolicy(domain, serving.gates.isOn);
  const role = policy.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "system:node");
  return role === undefined || "roleRef" in role ? [] : (role.rules ?? []).map(compileRule);
}
