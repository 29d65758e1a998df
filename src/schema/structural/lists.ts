/**
 * Lists of type `set` hold no item twice, lists of type `map` no key. The first repetition of each is reported. Source:
 * upstream's `apiextensions-apiserver/pkg/apiserver/schema/listtype`.
 */
import { type FieldError, invalidField } from "#meta/field-error.ts";
import { type Json, kindOf, numberOf, showValue } from "./json-value.ts";
import type { SchemaNode } from "./node.ts";

/** As many are listed. */
const findingsMax = 500;

/** Findings of a whole value, members by name. */
export function listFindings(node: SchemaNode, value: unknown, field: string): FieldError[] {
  const findings: FieldError[] = [];
  if (node.hasLists) walk(node, value, field, findings);
  return findings;
}

function walk(node: SchemaNode, value: unknown, field: string, findings: FieldError[]): void {
  if (!node.hasLists || typeof value !== "object" || value === null || findings.length >= findingsMax) return;
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    if (node.listType === "set") checkSet(list, list, field, findings);
    else if (node.listType === "map") checkMap(node.mapKeys, list, field, findings);
    const { items } = node;
    if (items?.hasLists === true)
      for (const [at, item] of list.entries()) walk(items, item, `${field}[${at}]`, findings);
    return;
  }
  if (kindOf(value) !== "object") return;
  const { properties, additional } = node;
  const object = value as Json;
  for (const name of Object.keys(object).sort()) {
    if (typeof additional === "object") walk(additional, object[name], `${field}[${name}]`, findings);
    const property = properties?.get(name);
    if (property !== undefined) walk(property, object[name], field === "" ? name : `${field}.${name}`, findings);
  }
}

/** `shown` are the values in messages, one for each of `items`. */
function checkSet(items: readonly unknown[], shown: readonly unknown[], field: string, findings: FieldError[]): void {
  if (items.length < 2) return;
  const counts = new Map<unknown, number>();
  for (const [at, item] of items.entries()) {
    const key = typeof item === "string" ? item : identity(item);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    if (count !== 1 || findings.length >= findingsMax) continue;
    findings.push({
      type: "FieldValueDuplicate",
      field: `${field}[${at}]`,
      message: `Duplicate value: ${showValue(shown[at])}`,
    });
  }
}

/** What two equal items that are no texts share; no text is one. */
function identity(item: unknown): unknown {
  const kind = kindOf(item);
  if (kind === "integer") return numberOf(item);
  if (kind === "number") return `${floatMark}${String(numberOf(item))}`;
  if (kind === "array" || kind === "object") return `${floatMark}${canonical(item)}`;
  return item;
}

/** Lone halves of a character pair: decoded texts hold none in this order. */
const floatMark = "\udc00\ud800";

function canonical(value: unknown): string {
  const kind = kindOf(value);
  if (kind === "array") return `[${(value as readonly unknown[]).map(canonical).join()}]`;
  if (kind !== "object") return JSON.stringify(value);
  const object = value as Json;
  const members = Object.keys(object).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(object[name])}`).join()}}`;
}

function checkMap(mapKeys: readonly string[], list: readonly unknown[], field: string, findings: FieldError[]): void {
  for (const [at, item] of list.entries()) {
    const kind = kindOf(item);
    if (kind === "object" || kind === "null") continue;
    const message = `Invalid value: ${showValue(item)}: must be an object for an array of list-type map`;
    findings.push({ ...invalidField(`${field}[${at}]`, "", ""), message });
    return;
  }
  if (list.length < 2) return;
  const keys = list.map((item) => {
    const key: Record<string, unknown> = {};
    for (const name of mapKeys) {
      if (item !== null && Object.hasOwn(item as Json, name)) setOwn(key, name, (item as Json)[name]);
    }
    return key;
  });
  checkSet(keys.map(canonical), keys, field, findings);
}

function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
