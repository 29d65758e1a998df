/**
 * Reads of the present for parts of the server that decide about requests: straight from memory, without a request of
 * their own, so that they see every write that was acknowledged.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Stores } from "#registry/stores.ts";

/** By Kubernetes' name of a resource (`storageclasses.storage.k8s.io`), in any served version. */
export interface Lookups {
  /** `namespace` is empty at the cluster scope. */
  get(resource: string, namespace: string, name: string): ApiObject | undefined;
  /** Of all namespaces. */
  list(resource: string): Iterable<ApiObject>;
}

export function storeLookups(table: ResourceTable, stores: Stores, rename: (text: string) => string): Lookups {
  const find = (name: string): ResourceDefinition | undefined => {
    const [resource, ...group] = name.split(".");
    const wanted = rename(group.join("."));
    return table.definitions.find((definition) => definition.group === wanted && definition.resource === resource);
  };
  const known = new Map<string, ResourceDefinition | undefined>();
  const definitionOf = (name: string): ResourceDefinition | undefined => {
    if (!known.has(name)) known.set(name, find(name));
    return known.get(name);
  };
  return {
    get(resource, namespace, name) {
      const definition = definitionOf(resource);
      if (definition === undefined) return undefined;
      const store = stores.of(definition);
      const entry = store.peek(namespace, name);
      return entry === undefined ? undefined : store.object(entry);
    },
    list(resource) {
      const definition = definitionOf(resource);
      return definition === undefined ? [] : stores.of(definition).peekAll();
    },
  };
}
