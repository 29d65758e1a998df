/** Random rules and selectors of admission policies and bindings. */
import type { Random } from "#std/random.ts";
import { chance, pick, some } from "./choices.ts";
import type { Subject } from "./policy-subjects.ts";
import type { Json } from "./servers.ts";

/** The properties of the policy that is generated. */
export interface Draft {
  /** Whether the whole policy is valid. */
  readonly isSound: boolean;
  readonly isMutating: boolean;
}

/** Returns a label selector. */
export function selector(random: Random, isSound: boolean): Json {
  if (!isSound && chance(random, 0.5)) {
    return pick(random, [
      { matchLabels: { "a b": "c" } },
      { matchExpressions: [{ key: "env", operator: "Nope", values: ["a"] }] },
      { matchExpressions: [{ key: "env", operator: "In" }] },
      { matchExpressions: [{ key: "", operator: "Exists" }] },
    ]);
  }
  return pick(random, [
    {},
    { matchLabels: { env: "prod" } },
    { matchLabels: { tier: "gold" } },
    { matchExpressions: [{ key: "env", operator: "In", values: ["prod", "dev"] }] },
    { matchExpressions: [{ key: "env", operator: "NotIn", values: ["dev"] }] },
    { matchExpressions: [{ key: "env", operator: "Exists" }] },
    { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] },
  ]);
}

/** Returns a valid rule about these kinds. */
function rule(random: Random, of: readonly Subject[], isMutating: boolean): Json {
  const operations = isMutating ? ["CREATE", "UPDATE"] : ["CREATE", "UPDATE", "DELETE"];
  const parts = of.flatMap(({ resource, subresources }) => [
    resource,
    ...some(random, 0.3, subresources).map((part) => `${resource}/${part}`),
    ...(chance(random, 0.1) ? [`${resource}/*`] : []),
  ]);
  const resources = chance(random, 0.1) ? [pick(random, ["*", "*/*", "*/scale"])] : [...new Set(parts)];
  return {
    apiGroups: chance(random, 0.1) ? ["*"] : [...new Set(of.map(({ group }) => group))],
    apiVersions: chance(random, 0.2) ? ["*"] : [...new Set(of.map(({ versions }) => pick(random, versions)))],
    operations:
      chance(random, 0.3) && !isMutating
        ? ["*"]
        : [pick(random, operations), ...some(random, 0.6, operations)].filter(
            (one, at, all) => all.indexOf(one) === at,
          ),
    resources,
    ...(chance(random, 0.2) ? { scope: pick(random, ["*", "Namespaced", "Cluster"]) } : {}),
    ...(chance(random, 0.1) ? { resourceNames: [pick(random, ["one", "two"])] } : {}),
  };
}

/** Members of a rule that are refused. */
const wrongMembers: readonly Json[] = [
  { operations: ["NOPE"] },
  { operations: ["*", "CREATE"] },
  { operations: [] },
  { operations: ["DELETE"] },
  { apiGroups: ["*", "apps"] },
  { apiGroups: [] },
  { apiVersions: [""] },
  { apiVersions: ["*", "v1"] },
  { resources: ["*", "pods"] },
  { resources: ["pods/*", "pods/status"] },
  { resources: [""] },
  { resources: ["a/b/c"] },
  { resources: [] },
  { scope: "Nope" },
  { resourceNames: ["a/b"] },
  { resourceNames: ["one", "one"] },
  { apiGroups: undefined },
  { nope: true },
];

/** Returns rules about the chosen kinds. */
function rules(random: Random, chosen: readonly Subject[], { isSound, isMutating }: Draft): Json[] {
  const valid = chance(random, 0.5)
    ? [rule(random, chosen, isMutating)]
    : chosen.map((one) => rule(random, [one], isMutating));
  if (isSound || chance(random, 0.6)) return valid;
  return valid.map((one) => ({
    ...one,
    ...pick(random, wrongMembers),
  }));
}

/** Returns the match resources of a policy or a binding. */
export function matchResources(random: Random, chosen: readonly Subject[], draft: Draft): Json {
  const { isSound } = draft;
  return {
    resourceRules: rules(random, chosen, draft),
    ...(chance(random, 0.1) ? { excludeResourceRules: rules(random, [pick(random, chosen)], draft) } : {}),
    ...(chance(random, 0.3)
      ? { matchPolicy: isSound ? pick(random, ["Exact", "Equivalent"]) : pick(random, ["", "Nope", "Exact"]) }
      : {}),
    ...(chance(random, 0.2) ? { namespaceSelector: selector(random, isSound) } : {}),
    ...(chance(random, 0.2) ? { objectSelector: selector(random, isSound) } : {}),
  };
}
