/** Whole objects of single kinds, as the checks read them. */
import { ApiError } from "#client/api-error.ts";
import { readCollection } from "#client/read-collection.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { collectionPath } from "../discovery.ts";
import type { OpenCluster } from "../open-cluster.ts";

/** Reads all objects of a built-in kind; none where the server lacks it or the caller may not list it. */
export const listAll = async (
  cluster: OpenCluster,
  beginning: string,
  plural: string,
): Promise<readonly Unstructured[]> => (await listIfAllowed(cluster, beginning, plural)) ?? [];

/** Reads all objects of a built-in kind; `undefined` where the caller cannot list them. */
export async function listIfAllowed(
  cluster: OpenCluster,
  beginning: string,
  plural: string,
): Promise<readonly Unstructured[] | undefined> {
  const { resources } = await cluster.discovered();
  const resource = resources.find(
    ({ group, resource: name }) => name === plural && (group === beginning || group.startsWith(`${beginning}.`)),
  );
  if (resource === undefined) return [];
  const { signal } = new AbortController();
  try {
    const path = collectionPath(resource, "");
    const { items } = await readCollection<Unstructured>({ client: cluster.rest, path, signal }, (object) => object);
    return items ?? [];
  } catch (error) {
    // The kinds that were not read are named elsewhere.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Returns a condition in the status of an object. */
export function conditionOf({ status }: Unstructured, type: string): Condition | undefined {
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly Condition[] | null }; // of kinds with them
  return (conditions ?? []).find((one) => one.type === type);
}

/** Returns the name of an object with its namespace. */
export const placeOf = ({ metadata: { namespace, name = "" } }: Unstructured): string =>
  namespace === undefined ? name : `${namespace}/${name}`;
