/**
 * Tells how a schema divides a value into separately owned parts: which values have members or items, their schemas,
 * and the path element of a list item. Hot path: list rules are computed once per schema. Source:
 * structured-merge-diff's `schema` and `typed` packages and kube-openapi's `schemaconv`.
 */
import { compareCodePoints } from "#std/code-points.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { keyElement, keyOpening, singleKeyElement, valueElement } from "./field-set.ts";
import { isArray, type JsonObject, member } from "./json-value.ts";

/** Special types without fields of their own. For other special types the structure follows from the value. */
const wholeTypes: ReadonlySet<SpecialType> = new Set<SpecialType>([
  "time",
  "microTime",
  "duration",
  "quantity",
  "intOrString",
  "rawExtension",
]);

/** The shape of a value for apply. A `leaf` is scalar, atomic, or of a type that is owned as a whole. */
type Shape = "map" | "list" | "leaf" | "null";

/** Returns the shape of a value. Without a schema, it follows from the value, and lists are atomic. */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "object") return "leaf";
  if (schema === undefined) return isArray(value) || isRawNumber(value) ? "leaf" : "map";
  if (schema.special !== undefined && wholeTypes.has(schema.special)) return "leaf";
  if (isArray(value)) return schema.type === "array" && listRuleOf(schema) !== undefined ? "list" : "leaf";
  return schema.mapType === "atomic" || isRawNumber(value) ? "leaf" : "map";
}

/** Returns the schema of a member; `undefined` when its structure follows from the value. */
export function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema === undefined) return undefined;
  return schema.type === "map" ? schema.items : schema.fields?.get(name)?.schema;
}

/** Whether a type is owned as a whole, independent of its structure. */
export const isWhole = (schema: Schema): boolean => schema.special !== undefined && wholeTypes.has(schema.special);

/** The key fields of list items; an empty list means that items are identified by their value. */
export interface ListRule {
  /** The names of the keys, sorted. */
  readonly keys: readonly string[];
  /** The values of keys that an item leaves out; `undefined` for none. */
  readonly defaults: readonly unknown[];
  /** The beginning of the elements of a list with one key. */
  readonly opening: string;
}

const listRules = new WeakMap<Schema, ListRule | null>();

/** Returns the rule of a list; `undefined` for atomic lists. */
export function listRuleOf(schema: Schema): ListRule | undefined {
  let rule = listRules.get(schema);
  if (rule === undefined) {
    rule = makeListRule(schema);
    listRules.set(schema, rule);
  }
  return rule ?? undefined;
}

function makeListRule(schema: Schema): ListRule | null {
  let keys: readonly string[];
  if (schema.listType === "map") keys = schema.listMapKeys ?? [];
  else if (schema.listType === "set") keys = [];
  else if (schema.listType === undefined && schema.patchStrategy?.includes("merge") === true) {
    keys = schema.patchMergeKey === undefined ? [] : [schema.patchMergeKey];
  } else return null;
  const sorted = keys.toSorted(compareCodePoints);
  const defaults = sorted.map((key) => keyDefault(schema.items?.fields?.get(key)));
  return { keys: sorted, defaults, opening: sorted.length === 1 ? keyOpening(sorted[0]!) : "" };
}

const keyDefault = (field: Field | undefined): unknown => field?.default ?? field?.schema.default;

/** Returns the element of a list item; `undefined` when it cannot have one. */
export function itemElement(rule: ListRule, item: unknown): string | undefined {
  if (rule.keys.length === 0) {
    if (item === undefined || (typeof item === "object" && !isRawNumber(item))) return undefined;
    return valueElement(item);
  }
  if (!isObject(item)) return undefined;
  if (rule.keys.length === 1) {
    const keyValue = member(item, rule.keys[0]!);
    const value = keyValue === undefined ? rule.defaults[0] : keyValue;
    return value === undefined ? undefined : singleKeyElement(rule.opening, value);
  }
  const fields: [string, unknown][] = [];
  for (let i = 0; i < rule.keys.length; i++) {
    const key = rule.keys[i]!;
    const keyValue = member(item, key);
    const value = keyValue === undefined ? rule.defaults[i] : keyValue;
    if (value === undefined) return undefined;
    fields.push([key, value]);
  }
  return keyElement(fields);
}

/** The elements of long lists, which several steps of a write need, with the rule of the list. */
const longLists = new WeakMap<readonly unknown[], { readonly rule: ListRule; readonly elements: Elements }>();
const longMin = 64;

export type Elements = readonly (string | undefined)[];

/** Returns the element of each item of a list. */
export function elementsOf(rule: ListRule, list: readonly unknown[]): Elements {
  if (list.length < longMin) return list.map((item) => itemElement(rule, item));
  const cached = longLists.get(list);
  if (cached?.rule === rule) return cached.elements;
  const elements = list.map((item) => itemElement(rule, item));
  longLists.set(list, { rule, elements });
  return elements;
}

/** Notes that the items of `list` have these elements. */
export function rememberElements(rule: ListRule, list: readonly unknown[], elements: Elements): void {
  if (list.length >= longMin) longLists.set(list, { rule, elements });
}

/** Whether an element occurs twice, or an item has none; cached for long lists. */
export function hasRepeats(elements: Elements): boolean {
  if (elements.length < longMin) return isRepeating(elements);
  let repeated = repeating.get(elements);
  if (repeated === undefined) {
    repeated = isRepeating(elements);
    repeating.set(elements, repeated);
  }
  return repeated;
}

const repeating = new WeakMap<Elements, boolean>();

/** The number of elements up to which comparing each with each costs less than a set. */
const fewMax = 12;

function isRepeating(elements: Elements): boolean {
  if (elements.length <= fewMax) {
    return elements.some((element, i) => element === undefined || elements.indexOf(element, i + 1) >= 0);
  }
  const seen = new Set(elements);
  return seen.size < elements.length || seen.has(undefined);
}

/** Whether two lists have the same elements in the same order. */
export function sameElements(one: Elements, other: Elements): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Whether an object has no members. */
export function isBare(object: JsonObject): boolean {
  for (const name in object) if (object[name] !== undefined) return false;
  return true;
}
