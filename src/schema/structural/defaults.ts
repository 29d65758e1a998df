/**
 * Filling in defaults, and dropping nulls where a field neither takes null nor has a default. Hot path: a value that
 * needs neither is returned as it is; what is filled in is shared and frozen. Source: upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.
 */
import { isRawNumber } from "#std/raw-number.ts";
import { copyOf, deepFreeze, type MutableJson, setMember } from "./copy.ts";
import type { SchemaNode } from "./node.ts";
import { pruneNode } from "./prune.ts";

/** `value` with its defaults; the same one when nothing was missing. Never changes `value`. */
export const fillDefaults = (value: unknown, node: SchemaNode, dropsNulls: boolean): unknown =>
  fill(value, node, dropsNulls);

/** A default with the defaults inside it. */
function filledDefault(node: SchemaNode): unknown {
  if (node.default === undefined) return null;
  if (node.filled === undefined) {
    // Those of map values are not checked with the schema and may hold what it does not know.
    const { value } = pruneNode(structuredCopy(node.default), node, {});
    node.filled = deepFreeze(fill(value, node, false));
  }
  return node.filled;
}

function structuredCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(structuredCopy);
  const copy: MutableJson = {};
  for (const [name, member] of Object.entries(value)) setMember(copy, name, structuredCopy(member));
  return copy;
}

/** `dropsNulls`: of what a client sent, not of defaults. */
function fill(value: unknown, node: SchemaNode | undefined, dropsNulls: boolean): unknown {
  if (node === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return fillList(value as readonly unknown[], node.items, dropsNulls);
  return isRawNumber(value) ? value : fillObject(value as MutableJson, node, dropsNulls);
}

function fillList(list: readonly unknown[], items: SchemaNode | undefined, dropsNulls: boolean): unknown {
  if (items === undefined) return list;
  let out: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    const filled = item === null && !items.nullable ? filledDefault(items) : fill(item, items, dropsNulls);
    if (filled === item) continue;
    out ??= [...list];
    out[at] = filled;
  }
  return out ?? list;
}

function fillObject(object: MutableJson, node: SchemaNode, dropsNulls: boolean): unknown {
  const { properties } = node;
  const additional = typeof node.additional === "object" ? node.additional : undefined;
  if (properties === undefined && additional === undefined) return object;
  let out: MutableJson | undefined;
  for (const name in object) {
    const member = object[name];
    if (member !== null && typeof member !== "object") continue;
    const declared = properties === undefined ? undefined : properties.get(name);
    const inner = declared ?? additional;
    if (inner === undefined) continue;
    let filled: unknown;
    if (member !== null) filled = fill(member, inner, dropsNulls);
    else if (inner.nullable) continue;
    else if (inner.default !== undefined) filled = filledDefault(inner);
    else if (dropsNulls) {
      out ??= copyOf(object);
      delete out[name];
      continue;
    }
    if (filled === member || filled === undefined) continue;
    out ??= copyOf(object);
    setMember(out, name, filled);
  }
  const { defaulted } = node;
  for (let at = 0; at < defaulted.length; at++) {
    const [name, property] = defaulted[at]!;
    if (Object.hasOwn(object, name)) continue;
    out ??= copyOf(object);
    setMember(out, name, filledDefault(property));
  }
  return out ?? object;
}
