/** Typed changes of stored objects by subresource actions (binding, eviction). */
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import type { Store } from "#registry/store.ts";

/**
 * Changes a stored object and returns it as it was stored. Throws `notFound` when there is none. `T` is the type of the
 * objects of the store.
 */
export async function changeStored<T extends ApiObject>(
  store: Store,
  namespace: string,
  name: string,
  attributes: WriteAttributes,
  change: (object: T) => T,
): Promise<T> {
  const { object } = await store.update(namespace, name, attributes, {
    // The store has found an object, or has thrown; the schema makes every object of the kind a T.
    transform: (current) => change(current as unknown as T) as unknown as Unstructured,
    allowCreate: false,
  });
  return object as unknown as T; // as above
}
