/** Typed changes of stored objects by subresource actions (binding, eviction). */
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import type { Store } from "#registry/store.ts";

/** Answers with the object as it was stored; throws `notFound` when there is none. T is the type of the store's objects. */
export async function changeStored<T extends ApiObject>(
  store: Store,
  namespace: string,
  name: string,
  attributes: WriteAttributes,
  change: (object: T) => T,
): Promise<T> {
  const { object } = await store.update(namespace, name, attributes, {
    // There is an object, or the store throws; its schema makes every object of the kind a T.
    transform: (current) => change(current as unknown as T) as unknown as Unstructured,
    allowCreate: false,
    uidIsPrecondition: false,
  });
  return object as unknown as T; // as above
}
