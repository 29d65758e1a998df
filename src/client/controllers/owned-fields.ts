/**
 * The part of an object that a manager has applied, read from `managedFields`. Source: the format of `fieldsV1`, in the
 * documentation of `metav1.FieldsV1`.
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "#std/is-object.ts";
import type { ApiObject, ManagedFieldsEntry } from "#meta/object-meta.ts";

/** Fields by name: `f:name` for a field, `k:{…}` for an item with keys, `v:…` for an item with a value. */
type FieldSet = Readonly<Record<string, unknown>>;

/**
 * Returns what `manager` has applied of the object, or of its subresource; `undefined` when it has applied nothing in the
 * object's version.
 */
export function appliedPart(object: ApiObject, manager: string, subresource?: string): unknown {
  const entry = object.metadata.managedFields?.find(
    (one) => one.manager === manager && one.operation === "Apply" && one.subresource === subresource,
  );
  if (entry?.fieldsV1 === undefined || entry.apiVersion !== object.apiVersion) return undefined;
  return partOf(object, entry.fieldsV1);
}

function partOf(value: unknown, fields: FieldSet): unknown {
  const names = Object.keys(fields);
  // A field without parts is owned as a whole.
  if (names.length === 0) return value;
  if (Array.isArray(value)) return itemsOf(value, fields);
  if (!isObject(value)) return value;
  const part: Record<string, unknown> = {};
  for (const name of names) {
    const field = name.slice(2);
    if (name.startsWith("f:") && Object.hasOwn(value, field))
      part[field] = partOf(value[field], fields[name] as FieldSet);
  }
  return part;
}

function itemsOf(items: readonly unknown[], fields: FieldSet): unknown[] {
  const part: unknown[] = [];
  for (const [index, item] of items.entries()) {
    const name = Object.keys(fields).find((one) => isNameOf(one, item, index));
    if (name !== undefined) part.push(partOf(item, fields[name] as FieldSet));
  }
  return part;
}

function isNameOf(name: string, item: unknown, index: number): boolean {
  const text = name.slice(2);
  if (name.startsWith("i:")) return text === String(index);
  if (name.startsWith("v:")) return isDeepStrictEqual(JSON.parse(text), item);
  if (!name.startsWith("k:") || !isObject(item)) return false;
  return Object.entries(JSON.parse(text) as FieldSet).every(([key, value]) => isDeepStrictEqual(item[key], value));
}

/** Whether the conditions of the status are one value, which one manager owns as a whole. */
export function hasAtomicConditions({ metadata }: ApiObject): boolean {
  const conditions = (metadata.managedFields ?? []).map(({ fieldsV1 }: ManagedFieldsEntry) => {
    const status = fieldsV1?.["f:status"];
    return isObject(status) ? status["f:conditions"] : undefined;
  });
  return conditions.some((fields) => isObject(fields) && Object.keys(fields).length === 0);
}
