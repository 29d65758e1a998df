/**
 * Drops nulls from what a conversion webhook returned, to which no defaults are applied. Source: the answers of
 * kube-apiserver 1.32.
 */
import { isRawNumber } from "#std/raw-number.ts";
import type { Json } from "../go-json.ts";
import { setKey } from "../json-values.ts";
import type { SchemaNode } from "./node.ts";

/**
 * Returns `value` without those members that are null, not nullable, and have no default; items of lists stay. Returns
 * the same value if there are none; never changes `value`.
 */
export function dropNulls(value: unknown, node: SchemaNode | undefined): unknown {
  if (node === undefined || typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return fromList(value as readonly unknown[], node.items);
  return fromObject(value as Json, node);
}

function fromList(list: readonly unknown[], items: SchemaNode | undefined): unknown {
  if (items === undefined) return list;
  const next = list.map((item) => dropNulls(item, items));
  return next.every((item, at) => item === list[at]) ? list : next;
}

function fromObject(object: Json, { properties, additional }: SchemaNode): unknown {
  const others = typeof additional === "object" ? additional : undefined;
  let out: Record<string, unknown> | undefined;
  for (const name in object) {
    const member = object[name];
    const inner = properties?.get(name) ?? others;
    if (inner === undefined) continue;
    if (member === null) {
      if (inner.nullable || inner.default !== undefined) continue;
      out ??= { ...object };
      delete out[name];
      continue;
    }
    const next = dropNulls(member, inner);
    if (next === member) continue;
    out ??= { ...object };
    setKey(out, name, next);
  }
  return out ?? object;
}
