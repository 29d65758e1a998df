/**
 * JSON Merge Patch (RFC 7386) over read-only values. Upstream (evanphx/json-patch 4) differs from the RFC in one
 * place: a list that replaces an object keeps the nulls in its items, one that replaces anything else loses them.
 */
import { isObject } from "#std/is-object.ts";
import { kindOf } from "#schema/mismatch.ts";
import { setKey } from "#schema/json-values.ts";
import { type DraftObject, isArray, type JsonObject, member } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

/**
 * Returns the document with the patch merged in. `patch` is the decoded body. The result shares structure with both
 * arguments and is `document` itself when nothing changed. Throws `PatchError` (`bad-request`) when the patch is no
 * object.
 */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonObject {
  if (patch === null) throw new PatchError("bad-request", "Invalid JSON Patch");
  if (!isObject(patch)) {
    const text = `error decoding patch: json: cannot unmarshal ${kindOf(patch)} into Go value of type map[string]interface {}`;
    throw new PatchError("bad-request", text);
  }
  return mergeObjects(document, patch);
}

function mergeObjects(object: JsonObject, patch: JsonObject): JsonObject {
  let draft: DraftObject | undefined;
  for (const name of Object.keys(patch)) {
    const old = member(object, name);
    const next = mergeMember(old, patch[name]);
    if (next === old) continue;
    draft ??= { ...object };
    if (next === undefined) delete draft[name];
    else setKey(draft, name, next);
  }
  return draft ?? object;
}

/** Returns the merged value of a member; `undefined` when the patch removes it. */
function mergeMember(old: unknown, patch: unknown): unknown {
  if (patch === null) return undefined;
  if (!isObject(old)) return withoutNulls(patch);
  return isObject(patch) ? mergeObjects(old, patch) : patch;
}

/**
 * Returns a value without null members, at any depth; nulls that are list items stay. It is the value itself when it
 * has none.
 */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) {
    let items: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = withoutNulls(value[i]);
      if (item === value[i]) continue;
      items ??= value.slice();
      items[i] = item;
    }
    return items ?? value;
  }
  const object = value as JsonObject; // an object that is no array
  let draft: DraftObject | undefined;
  for (const name of Object.keys(object)) {
    const old = object[name];
    const next = withoutNulls(old);
    if (next !== null && next === old) continue;
    draft ??= { ...object };
    if (next === null) delete draft[name];
    else setKey(draft, name, next);
  }
  return draft ?? object;
}
