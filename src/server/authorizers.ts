/** Who may do what: `system:masters` everything, then as flags or the configuration file say. */
import { union } from "#authz/authorizer.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { rbac } from "#authz/rbac.ts";
import { type CompiledRule, compileRule } from "#authz/rules.ts";
import { bootstrapPolicy, type PolicyRule } from "#api/bootstrap-policy.ts";
import { groupMasters } from "#meta/user-info.ts";
import type { AccessConfig } from "./access.ts";
import { type AuthorizerChain, openAuthorizers } from "./external-authorizers.ts";

export async function serverAuthorizer(config: AccessConfig): Promise<AuthorizerChain> {
  const { authorization, domain, clock, log, metrics, rbacIndex, nodeGraph, plan } = config;
  const selectors = plan.gates.isOn("AuthorizeWithSelectors");
  const chain = await openAuthorizers({
    plan: authorization,
    domain,
    clock,
    log,
    metrics,
    selectors,
    rbac: rbac(rbacIndex),
    async node() {
      const { node } = await import("#authz/node.ts");
      return node({
        domain,
        graph: nodeGraph,
        rules: nodeRules(config),
        selectors: selectors && plan.gates.isOn("AuthorizeNodeWithSelectors"),
      });
    },
  });
  return { authorizer: union([privilegedGroups([groupMasters]), chain.authorizer]), close: () => chain.close() };
}

/** Of the role that nodes had before there was an authorizer of their own. */
function nodeRules({ domain, plan }: AccessConfig): readonly CompiledRule[] {
  const policy = bootstrapPolicy(domain, plan.gates.isOn);
  const role = policy.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "system:node");
  const { rules = [] } = (role ?? {}) as { readonly rules?: readonly PolicyRule[] }; // the kind says so
  return rules.map(compileRule);
}
