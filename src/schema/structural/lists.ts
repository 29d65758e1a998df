/**
 * Checks uniqueness in lists: items of type `set`, keys of type `map`. The first duplicate of each item is reported.
 * Source: upstream's `apiextensions-apiserver/pkg/apiserver/schema/listtype`.
 */
import { duplicate, type FieldError, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { setKey } from "../json-values.ts";
import { goJson, type Json, kindOf, numberOf, shown } from "../go-json.ts";
import type { SchemaNode } from "./node.ts";

/** The maximum number of findings that are listed. */
const findingsMax = 500;

/** Returns the errors of a whole value, members in the order of their names. */
export function listFindings(node: SchemaNode, value: unknown, field: FieldPath): FieldError[] {
  if (!node.hasLists || isClean(node, value)) return [];
  const findings: FieldError[] = [];
  try {
    walk(node, value, field, findings);
  } catch (error) {
    // Items that the schema does not describe may be nested too deeply for a comparison.
    if (!(error instanceof RangeError)) throw error;
    findings.push(invalid(field, "", "the object is nested too deeply to be checked against its schema"));
  }
  return findings;
}

/**
 * Whether a quick check finds all lists unique. It only handles keys and items that are texts or small integers, and
 * allocates little.
 */
function isClean(node: SchemaNode, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const { items, properties, additional } = node;
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    if (node.listType === "set" && !areDifferent(list, undefined)) return false;
    if (node.listType === "map" && (node.mapKeys.length !== 1 || !areDifferent(list, node.mapKeys[0]))) {
      if (list.length > 0) return false;
    }
    if (items?.hasLists === true) for (let at = 0; at < list.length; at++) if (!isClean(items, list[at])) return false;
    return true;
  }
  const object = value as Json;
  for (const name in object) {
    const property = properties === undefined ? undefined : properties.get(name);
    const inner = property ?? (typeof additional === "object" ? additional : undefined);
    if (inner?.hasLists === true && !isClean(inner, object[name])) return false;
  }
  return true;
}

/** Whether the items, or their members with the name `key`, are all texts or small integers, and no two are equal. */
function areDifferent(list: readonly unknown[], key: string | undefined): boolean {
  const seen = list.length > 8 ? new Set<unknown>() : undefined;
  for (let at = 0; at < list.length; at++) {
    const part = partOf(list[at], key);
    if (typeof part !== "string" && (typeof part !== "number" || (part | 0) !== part)) return false;
    if (seen !== undefined) seen.add(part);
    else for (let before = 0; before < at; before++) if (partOf(list[before], key) === part) return false;
  }
  return seen === undefined || seen.size === list.length;
}

function partOf(item: unknown, key: string | undefined): unknown {
  if (key === undefined) return item;
  return typeof item === "object" && item !== null && Object.hasOwn(item, key) ? (item as Json)[key] : undefined;
}

function walk(node: SchemaNode, value: unknown, field: FieldPath, findings: FieldError[]): void {
  if (!node.hasLists || typeof value !== "object" || value === null || findings.length >= findingsMax) return;
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    if (node.listType === "set") checkSet(list, list, field, findings);
    else if (node.listType === "map") checkMap(node.mapKeys, list, field, findings);
    const { items } = node;
    if (items?.hasLists === true) for (const [at, item] of list.entries()) walk(items, item, field.index(at), findings);
    return;
  }
  if (kindOf(value) !== "object") return;
  const { properties, additional } = node;
  const object = value as Json;
  for (const name of Object.keys(object).sort()) {
    if (typeof additional === "object") walk(additional, object[name], field.key(name), findings);
    const property = properties?.get(name);
    if (property !== undefined) walk(property, object[name], field.child(name), findings);
  }
}

/** Checks a set. Messages show `values`, one for each of `items`. */
function checkSet(
  items: readonly unknown[],
  values: readonly unknown[],
  field: FieldPath,
  findings: FieldError[],
): void {
  if (items.length < 2) return;
  const keys = items.map((item) => (typeof item === "string" ? item : identity(item)));
  if (new Set(keys).size === keys.length) return;
  const counts = new Map<unknown, number>();
  for (const [at, key] of keys.entries()) {
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    if (count !== 1 || findings.length >= findingsMax) continue;
    findings.push(duplicate(field.index(at), shown(values[at])));
  }
}

/** Returns an identity that equal items share, for items that are not strings. */
function identity(item: unknown): unknown {
  const kind = kindOf(item);
  if (kind === "integer") return numberOf(item);
  if (kind === "number") return `${floatMark}${String(numberOf(item))}`;
  if (kind === "array" || kind === "object") return `${floatMark}${goJson(item)}`;
  return item;
}

/** A prefix of two unpaired surrogates in an order that decoded texts never contain. */
const floatMark = "\udc00\ud800";

function checkMap(
  mapKeys: readonly string[],
  list: readonly unknown[],
  field: FieldPath,
  findings: FieldError[],
): void {
  for (const [at, item] of list.entries()) {
    const kind = kindOf(item);
    if (kind === "object" || kind === "null") continue;
    findings.push(invalid(field.index(at), shown(item), "must be an object for an array of list-type map"));
    return;
  }
  if (list.length < 2) return;
  const keys = list.map((item) => {
    const key: Record<string, unknown> = {};
    for (const name of mapKeys) {
      if (item !== null && Object.hasOwn(item as Json, name)) setKey(key, name, (item as Json)[name]);
    }
    return key;
  });
  checkSet(keys.map(goJson), keys, field, findings);
}
