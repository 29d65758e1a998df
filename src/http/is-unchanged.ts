/**
 * Finds writes that change nothing but the times of field managers. They count as no writes, so that controllers which
 * apply the same again and again make no versions. Source: upstream's `IgnoreManagedFieldsTimestampsTransformer`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";

/** Whether the server would store the object as it is stored already, except for the times of its field managers. */
export function isUnchanged(object: Unstructured, current: Unstructured): boolean {
  const { metadata, ...rest } = object;
  const { metadata: old, ...oldRest } = current;
  // Most writes change more than metadata.
  return jsonEquals(rest, oldRest) && sameButTimes(withServerFields(metadata, old), old);
}

/** Returns the metadata with the fields of the current object that the server owns. */
function withServerFields({ selfLink: _selfLink, generation: _generation, ...metadata }: ObjectMeta, own: ObjectMeta) {
  const { creationTimestamp, generation, deletionTimestamp, uid, resourceVersion } = own;
  return {
    ...metadata,
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    // A configuration may have null for these fields, which asks for nothing.
    ...((metadata.uid ?? "") === "" && uid !== undefined && { uid }),
    ...((metadata.resourceVersion ?? "") === "" && resourceVersion !== undefined && { resourceVersion }),
  };
}

/** Whether metadata are the same except for the times of the field managers, which may come in any order. */
function sameButTimes(a: ObjectMeta, b: ObjectMeta): boolean {
  const { managedFields: left = [], ...leftRest } = a;
  const { managedFields: right = [], ...rightRest } = b;
  if (left.length !== right.length || !jsonEquals(leftRest, rightRest)) return false;
  const unordered = new Set(right);
  return left.every((entry) => {
    const { time: _time, ...rest } = entry;
    for (const other of unordered) {
      if (other.manager !== entry.manager || other.operation !== entry.operation) continue;
      const { time: _otherTime, ...otherRest } = other;
      if (other === entry || jsonEquals(rest, otherRest)) return unordered.delete(other);
    }
    return false;
  });
}
