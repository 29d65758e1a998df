/** The rights that roles and bindings of a cluster give, and their names in words. */
import type { PolicyRule, RoleRef, Subject } from "#api/rbac/v1.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Attributes } from "./authorizer.ts";
import { compileRule, listsOf, type PreparedRule } from "./rules.ts";

/** A binding, with the rules of its role. */
export interface Grant {
  readonly kind: "ClusterRoleBinding" | "RoleBinding";
  /** The namespace of the binding; empty for the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
  /** `undefined` when there is no such role. */
  readonly rules: readonly PreparedRule[] | undefined;
}

/** The roles and bindings of a cluster, as they are read from it. */
interface RoleObjects {
  readonly clusterRoles: readonly Unstructured[];
  readonly roles: readonly Unstructured[];
  readonly clusterBindings: readonly Unstructured[];
  readonly bindings: readonly Unstructured[];
}

/** Returns the bindings with the rules of their roles: those of the cluster, then those of namespaces. */
export function grantsOf({ clusterRoles, roles, clusterBindings, bindings }: RoleObjects): readonly Grant[] {
  const byKey = new Map<string, readonly PreparedRule[]>();
  for (const role of [...clusterRoles, ...roles]) {
    const { name = "", namespace: own = "" } = role.metadata;
    const rules = (role["rules"] ?? []) as readonly PolicyRule[]; // what roles have
    byKey.set(`${own}/${name}`, rules.map(compileRule));
  }
  const grantOf = (binding: Unstructured, kind: Grant["kind"]): Grant => {
    const { name = "", namespace: own = "" } = binding.metadata;
    const { roleRef, subjects } = binding as unknown as { roleRef: RoleRef; subjects?: readonly Subject[] | null };
    const rules = byKey.get(`${roleRef.kind === "Role" ? own : ""}/${roleRef.name}`);
    return { kind, namespace: own, name, roleRef, subjects: subjects ?? [], rules };
  };
  return [
    ...clusterBindings.map((binding) => grantOf(binding, "ClusterRoleBinding")),
    ...bindings.map((binding) => grantOf(binding, "RoleBinding")),
  ];
}

/** Whether a binding applies to an action: cluster bindings to all, others to those in their namespace. */
export const reaches = ({ namespace }: Grant, attributes: Attributes): boolean =>
  namespace === "" || namespace === attributes.namespace;

/** Whether a subject of a binding is a user: by name, by a group, or as a service account. */
export function names({ kind, name, namespace = "" }: Subject, scope: string, { user }: Attributes): boolean {
  if (kind === "User") return name === user.name;
  if (kind === "Group") return user.groups.includes(name);
  const account = namespace === "" ? scope : namespace;
  return kind === "ServiceAccount" && user.name === `system:serviceaccount:${account}:${name}`;
}

/** Returns `RoleBinding shop/readers`. */
export const bindingText = ({ kind, namespace, name }: Grant): string =>
  `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`;

/** Returns `Role shop/reader`. */
export const roleText = ({ namespace, roleRef: { kind, name } }: Grant): string =>
  `${kind} ${kind === "Role" ? `${namespace}/${name}` : name}`;

/** Returns `User alice`, `Group dev` or `ServiceAccount shop/robot`. */
export const subjectText = ({ kind, name, namespace }: Subject, scope: string): string =>
  `${kind} ${kind === "ServiceAccount" ? `${namespace ?? scope}/${name}` : name}`;

/** Returns a rule in words: `get, list on pods in apps, only a, b`. */
export function ruleWords(rule: PolicyRule): string {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = listsOf(rule);
  if (nonResourceURLs.length > 0) return `${verbs.join(", ")} on ${nonResourceURLs.join(", ")}`;
  const groups = apiGroups.map((group) => (group === "" ? "the core group" : group === "*" ? "all groups" : group));
  const only = resourceNames.length === 0 ? "" : `, only ${resourceNames.join(", ")}`;
  return `${verbs.join(", ")} on ${resources.join(", ")} of ${groups.join(", ")}${only}`;
}
