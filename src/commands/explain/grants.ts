/** Reads the roles and bindings of a cluster, from any server with RBAC. */
import { type Grant, grantsOf } from "#authz/grants.ts";
import { ApiError } from "#client/api-error.ts";
import { readCollection } from "#client/read-collection.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StartError } from "#std/start-error.ts";
import type { OpenCluster } from "../open-cluster.ts";

/**
 * Reads the bindings of the cluster and those of one namespace, or of all namespaces for an empty text. Rejects with
 * `StartError`, which says what the caller may not read.
 */
export async function readGrants(cluster: OpenCluster, namespace: string): Promise<readonly Grant[]> {
  const group = await rbacGroup(cluster);
  const inNamespace = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const read = (path: string): Promise<readonly Unstructured[]> => readAll(cluster, `/apis/${group}/v1${path}`);
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all([
    read("/clusterroles"),
    read(`${inNamespace}/roles`),
    read("/clusterrolebindings"),
    read(`${inNamespace}/rolebindings`),
  ]);
  return grantsOf({ clusterRoles, roles, clusterBindings, bindings });
}

/** Returns the name of the group of roles on this server. Rejects with `StartError` where it has none. */
export async function rbacGroup(cluster: OpenCluster): Promise<string> {
  try {
    return await cluster.groupOf("rbac.authorization");
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const why = "this server has no roles and bindings (RBAC), so what it allows is written down elsewhere";
    throw new StartError(why, { cause: error });
  }
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
