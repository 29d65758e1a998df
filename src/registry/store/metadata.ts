/** Makes objects with other metadata. */
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";

/** Returns a copy of an object with more, or other, fields of metadata. */
export function withMeta(object: Unstructured, more: Partial<ObjectMeta>): Unstructured {
  return { ...object, metadata: { ...object.metadata, ...more } };
}
