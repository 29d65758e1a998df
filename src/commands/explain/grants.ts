/** The rights that roles and bindings of a cluster give, read from any server with RBAC. */
import type { PolicyRule, RoleRef, Subject } from "#api/rbac/v1.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { compileRule, listsOf, type PreparedRule } from "#authz/rules.ts";
import { ApiError } from "#client/api-error.ts";
import { readCollection } from "#client/read-collection.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StartError } from "#std/start-error.ts";
import type { OpenCluster } from "../open-cluster.ts";

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

/**
 * Reads the bindings of the cluster and those of one namespace, or of all namespaces for an empty text. Rejects with
 * `StartError`, which says what the caller may not read.
 */
export async function readGrants(cluster: OpenCluster, namespace: string): Promise<readonly Grant[]> {
  const group = await cluster.groupOf("rbac.authorization");
  const inNamespace = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const read = (path: string): Promise<readonly Unstructured[]> => readAll(cluster, `/apis/${group}/v1${path}`);
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all([
    read("/clusterroles"),
    read(`${inNamespace}/roles`),
    read("/clusterrolebindings"),
    read(`${inNamespace}/rolebindings`),
  ]);
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

async function readAll(cluster: OpenCluster, path: string): Promise<readonly Unstructured[]> {
  const { signal } = new AbortController();
  try {
    const list = await readCollection<Unstructured>({ client: cluster.rest, path, signal }, withoutManagers);
    return list.items ?? [];
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error;
    throw new StartError(`roles and bindings explain access, and you may not read all of them: ${error.said}`, {
      cause: error,
    });
  }
}

/** Returns the object without the owners of its fields, which nobody asks about here. */
function withoutManagers(object: Unstructured): Unstructured {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
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
