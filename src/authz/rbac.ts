/**
 * RBAC: what the roles that are bound to a user or his groups allow. Rights only add up; nothing is denied here. Source:
 * upstream's `plugin/pkg/auth/authorizer/rbac`, whose reasons these are.
 */
import type { PolicyRule } from "#api/bootstrap-policy.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { aggregate, type Attributes, type Authorizer, noOpinion, type Rules, type Verdict } from "./authorizer.ts";
import { explainRbac } from "./explain.ts";
import type { Binding, RbacIndex } from "./rbac-index.ts";
import { allows, ruleResource } from "./rules.ts";

export function rbac(index: RbacIndex): Required<Authorizer> {
  return {
    authorize(attributes) {
      const resource = ruleResource(attributes);
      return (
        inScope(index, attributes, resource, "") ??
        (attributes.namespace === "" ? undefined : inScope(index, attributes, resource, attributes.namespace)) ??
        undecided(index, attributes)
      );
    },
    rulesFor: (user, namespace) => rulesFor(index, user, namespace),
    explain: (attributes) => explainRbac(index, attributes),
  };
}

function inScope(index: RbacIndex, attributes: Attributes, resource: string, scope: string): Verdict | undefined {
  const { user } = attributes;
  const found = firstAllowing(index, index.ofUser(user.name, scope), attributes, resource);
  if (found !== undefined) return index.allowance(found, user);
  for (const group of user.groups) {
    const binding = firstAllowing(index, index.ofGroup(group, scope), attributes, resource);
    if (binding !== undefined) return index.allowance(binding, user);
  }
  return undefined;
}

function firstAllowing(
  index: RbacIndex,
  bindings: Iterable<Binding> | undefined,
  attributes: Attributes,
  resource: string,
): Binding | undefined {
  if (bindings === undefined) return undefined;
  for (const binding of bindings) {
    const rules = index.rulesOf(binding);
    if (rules === undefined) continue;
    for (const rule of rules) if (allows(rule, attributes, resource)) return binding;
  }
  return undefined;
}

/** Not allowed: says which roles were bound and are not there. */
function undecided(index: RbacIndex, { user, namespace }: Attributes): Verdict {
  const errors = new Set<string>();
  for (const binding of index.bindingsOf(user, namespace)) {
    if (index.rulesOf(binding) === undefined) errors.add(index.missing(binding.roleRef));
  }
  return errors.size === 0 ? noOpinion : { decision: "noOpinion", reason: `RBAC: ${aggregate([...errors])}` };
}

/**
 * All rules that apply to a user in a namespace (empty: at the cluster scope). `resource` is what messages about missing
 * roles call them, instead of what they are.
 */
export function rulesFor(index: RbacIndex, user: UserInfo, namespace: string, resource?: string): Rules {
  const resourceRules: PolicyRule[] = [];
  const nonResourceRules: PolicyRule[] = [];
  const errors = new Set<string>();
  for (const binding of index.bindingsOf(user, namespace)) {
    const rules = index.rulesOf(binding);
    if (rules === undefined) errors.add(index.missing(binding.roleRef, resource));
    for (const { rule } of rules ?? []) {
      if ((rule.resources ?? []).length > 0) resourceRules.push(rule);
      if ((rule.nonResourceURLs ?? []).length > 0) nonResourceRules.push(rule);
    }
  }
  return { resourceRules, nonResourceRules, incomplete: false, errors: [...errors] };
}
