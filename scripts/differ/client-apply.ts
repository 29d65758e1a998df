/**
 * Patches between two versions of an object, as clients compute them: the strategic patch of `kubectl apply` on the
 * client's side (from the last applied, the wanted and the present object), merge patches, and JSON patches.
 */
import { isDeepStrictEqual } from "node:util";
import type { Schema } from "#schema/schema.ts";
import type { Json } from "./servers.ts";

const isMap = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the merge patch that changes `before` to `after`. */
export function mergePatch(before: Json, after: Json): Json {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, next] = [before[name], after[name]];
    if (isDeepStrictEqual(old, next)) continue;
    if (next === undefined) patch[name] = null;
    else patch[name] = isMap(old) && isMap(next) ? mergePatch(old, next) : next;
  }
  return patch;
}

/** Returns the JSON patch that changes `before` to `after`. It replaces lists as a whole. */
export function jsonPatch(before: Json, after: Json, path = ""): Json[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): Json[] => {
    const [old, next] = [before[name], after[name]];
    const at = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (isDeepStrictEqual(old, next)) return [];
    if (next === undefined) return [{ op: "remove", path: at }];
    if (isMap(old) && isMap(next)) return jsonPatch(old, next, at);
    return [{ op: old === undefined ? "add" : "replace", path: at, value: next }];
  });
}

const fieldOf = (schema: Schema | undefined, name: string): Schema | undefined =>
  schema?.fields?.get(name)?.schema ?? (schema?.type === "map" ? schema.items : undefined);

/**
 * Returns the strategic patch of `kubectl apply`. It removes applied fields that are no longer wanted, and sets wanted
 * fields that differ.
 */
export function clientPatch(applied: Json, desired: Json, current: Json, schema: Schema | undefined): Json {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(applied)) if (!isSet(desired, name)) patch[name] = null;
  for (const [name, next] of Object.entries(desired)) {
    if (next === null) continue;
    const [before, now] = [applied[name], current[name]];
    const field = fieldOf(schema, name);
    const merges = field?.patchStrategy?.includes("merge") === true;
    if (Array.isArray(next) && Array.isArray(now) && merges) {
      Object.assign(patch, listPatch(name, Array.isArray(before) ? before : [], next, now, field));
    } else if (isMap(next) && isMap(now) && field?.patchStrategy?.includes("replace") !== true) {
      const inner = clientPatch(isMap(before) ? before : {}, next, now, field);
      const retainsKeys = field?.patchStrategy?.includes("retainKeys") === true;
      if (Object.keys(inner).length > 0)
        patch[name] = retainsKeys ? { ...inner, $retainKeys: Object.keys(next).sort() } : inner;
    } else if (!isDeepStrictEqual(next, now)) patch[name] = next;
  }
  return patch;
}

const isSet = (desired: Json, name: string): boolean => desired[name] !== undefined && desired[name] !== null;

function listPatch(
  name: string,
  before: readonly unknown[],
  next: readonly unknown[],
  now: readonly unknown[],
  { patchMergeKey: key, items }: Schema,
): Json {
  if (key === undefined) {
    const added = next.filter((item) => !now.includes(item));
    const removed = before.filter((item) => !next.includes(item));
    return {
      ...(added.length > 0 && { [name]: added }),
      ...(removed.length > 0 && { [`$deleteFromPrimitiveList/${name}`]: removed }),
      ...(added.length + removed.length > 0 && { [`$setElementOrder/${name}`]: next }),
    };
  }
  const byKey = (list: readonly unknown[]): Map<unknown, Json> =>
    new Map(list.filter(isMap).map((item) => [item[key], item]));
  const [applied, desired, current] = [byKey(before), byKey(next), byKey(now)];
  const changes: Json[] = [];
  for (const [value, item] of desired) {
    const present = current.get(value);
    const inner = present === undefined ? item : clientPatch(applied.get(value) ?? {}, item, present, items);
    if (Object.keys(inner).length > 0) changes.push({ ...inner, [key]: value });
  }
  for (const value of applied.keys()) if (!desired.has(value)) changes.push({ [key]: value, $patch: "delete" });
  if (changes.length === 0) return {};
  return { [name]: changes, [`$setElementOrder/${name}`]: next.filter(isMap).map((item) => ({ [key]: item[key] })) };
}
