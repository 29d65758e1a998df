/** Paths of collections and objects, and keys of objects in queues. A collection is named by its path: `/api/v1/pods`. */
import type { ObjectMeta } from "#meta/object-meta.ts";

/** The names of an object; one without a namespace is cluster-scoped. */
type ObjectName = Pick<ObjectMeta, "namespace" | "name">;

/** Returns the path of a collection in one namespace: `/api/v1/namespaces/shop/pods`. */
export function inNamespace(collection: string, namespace: string): string {
  const end = collection.lastIndexOf("/");
  return `${collection.slice(0, end)}/namespaces/${segment(namespace)}${collection.slice(end)}`;
}

/**
 * Returns the path of an object, which is given by its key or its metadata. The collection is that in all namespaces, or
 * in the namespace of the object.
 */
export function objectPath(collection: string, of: string | ObjectName): string {
  const { namespace, name = "" } = typeof of === "string" ? nameOf(of) : of;
  const isComplete = namespace === undefined || collection.includes("/namespaces/");
  const home = isComplete ? collection : inNamespace(collection, namespace);
  return `${home}/${segment(name)}`;
}

/**
 * Returns a name as a part of a path. Owner references, among others, may have any text as a name; one that no object has, since
 * it would lead to a subresource, a collection or another server's path, becomes another one that no object has.
 */
export const segment = (name: string): string =>
  encodeURIComponent(/^\.{0,2}$/.test(name) ? `%${name}` : name.replaceAll("/", "%2F"));

/** Reads a key: `namespace/name`, or `name` for a cluster-scoped object. */
function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
