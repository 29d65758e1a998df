/**
 * Applies defaults, and drops nulls of fields that are neither nullable nor have a default. Hot path: a value that
 * needs neither is returned unchanged; default values are shared and frozen. Source: upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.
 */
import { isRawNumber } from "#std/raw-number.ts";
import { ByteBudget, setKey } from "../json-values.ts";
import type { Json } from "../go-json.ts";
import type { SchemaNode } from "./node.ts";
import { prune } from "./prune.ts";

/** Returns a default with the defaults of its parts; null if the node has no default. */
function filledDefault(node: SchemaNode, room: ByteBudget): unknown {
  if (node.default === undefined) return null;
  if (node.filled === undefined) {
    // Defaults of map values are not checked with the schema, so they may contain members that it does not declare.
    const { value } = prune(structuredCopy(node.default), node);
    node.filled = deepFreeze(applyDefaults(value, node, false, room));
    node.filledBytes = sizeOf(node.filled);
  }
  room.take(node.filledBytes);
  return node.filled;
}

/** Returns the approximate number of bytes of a value in JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  // The value is a scalar.
  if (typeof value !== "object" || value === null) return String(value as number | boolean).length;
  if (isRawNumber(value)) return value.rawJSON.length;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) bytes += sizeOf(item) + 1;
  else for (const [name, member] of Object.entries(value)) bytes += name.length + 4 + sizeOf(member);
  return bytes;
}

function structuredCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(structuredCopy);
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) setKey(copy, name, structuredCopy(member));
  return copy;
}

/** Freezes a tree of JSON that many values will share. */
function deepFreeze(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

const endless = new ByteBudget(Number.POSITIVE_INFINITY, () => new Error("no room"));

/**
 * Returns `value` with the schema's defaults. A null that the schema does not accept gets the default; a member without
 * a default is dropped if `dropsNulls` is true, and a list item stays null. Returns the same value if nothing changes;
 * never changes `value`. Defaults are frozen and shared. `room` limits their size; leave it out for trusted values.
 */
export function applyDefaults(
  value: unknown,
  node: SchemaNode | undefined,
  dropsNulls = true,
  room: ByteBudget = endless,
): unknown {
  if (node === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return fillList(value as readonly unknown[], node.items, dropsNulls, room);
  return isRawNumber(value) ? value : fillObject(value as Json, node, dropsNulls, room);
}

function fillList(
  list: readonly unknown[],
  items: SchemaNode | undefined,
  dropsNulls: boolean,
  room: ByteBudget,
): unknown {
  if (items === undefined) return list;
  let out: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    const filled =
      item === null && !items.nullable ? filledDefault(items, room) : applyDefaults(item, items, dropsNulls, room);
    if (filled === item) continue;
    out ??= [...list];
    out[at] = filled;
  }
  return out ?? list;
}

function fillObject(object: Json, node: SchemaNode, dropsNulls: boolean, room: ByteBudget): unknown {
  const { properties } = node;
  const additional = typeof node.additional === "object" ? node.additional : undefined;
  if (properties === undefined && additional === undefined) return object;
  let out: Record<string, unknown> | undefined;
  for (const name in object) {
    const member = object[name];
    if (member !== null && typeof member !== "object") continue;
    const declared = properties === undefined ? undefined : properties.get(name);
    const inner = declared ?? additional;
    if (inner === undefined) continue;
    let filled: unknown;
    if (member !== null) filled = applyDefaults(member, inner, dropsNulls, room);
    else if (inner.nullable) continue;
    else if (inner.default !== undefined) filled = filledDefault(inner, room);
    else if (dropsNulls) {
      out ??= { ...object };
      delete out[name];
      continue;
    }
    if (filled === member || filled === undefined) continue;
    out ??= { ...object };
    setKey(out, name, filled);
  }
  const { defaulted } = node;
  for (let at = 0; at < defaulted.length; at++) {
    const [name, property] = defaulted[at]!;
    if (Object.hasOwn(object, name)) continue;
    out ??= { ...object };
    room.take(name.length + 4);
    setKey(out, name, filledDefault(property, room));
  }
  return out ?? object;
}
