/**
 * In-memory look-ups for the parts that decide about requests. They include every acknowledged write and make no
 * request.
 */
import type { Namespace } from "#api/core/v1.ts";
import type { FindObject, ObjectTypes } from "#api/object-types.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Store } from "#registry/store.ts";
import type { Stores } from "#registry/stores.ts";
import { qualifiedResource } from "#meta/group-version.ts";

/** Look-ups by the Kubernetes name of a resource (`storageclasses.storage.k8s.io`), in any served version. */
export interface Lookups {
  readonly get: FindObject;
  readonly getNamespace: (name: string) => Namespace | undefined;
  /** Lists the objects of all namespaces. */
  list<Resource extends keyof ObjectTypes>(resource: Resource): Iterable<ObjectTypes[Resource]>;
}

/** Finds the store of a resource by its Kubernetes name, in any served version. */
export type StoreFinder = (resource: string) => Store | undefined;

export function storeFinder(table: ResourceTable, stores: Stores, rename: (text: string) => string): StoreFinder {
  const find = (name: string): Store | undefined => {
    const wanted = rename(name);
    const definition = table.definitions.find((one) => qualifiedResource(one) === wanted);
    return definition === undefined ? undefined : stores.of(definition);
  };
  const storesByResource = new Map<string, Store | undefined>();
  return (name) => {
    if (!storesByResource.has(name)) storesByResource.set(name, find(name));
    return storesByResource.get(name);
  };
}

export function storeLookups(storeOf: StoreFinder): Lookups {
  const get = (resource: string, namespace: string, name: string): ApiObject | undefined => {
    const store = storeOf(resource);
    const entry = store?.peek(namespace, name);
    return entry === undefined ? undefined : store?.object(entry);
  };
  const find = get as FindObject; // by the schemas of the resources
  const list = (resource: string): Iterable<ApiObject> => storeOf(resource)?.peekAll() ?? [];
  return {
    get: find,
    getNamespace: (name) => find("namespaces", "", name),
    list: list as Lookups["list"], // as above
  };
}
