/**
 * How a schema tells the parts of a value apart: which values have members or items that are owned singly, what their
 * schemas are, and which path element an item of a list has. Hot path: list rules are made once a schema.
 * Source: structured-merge-diff's `schema` and `typed` packages and kube-openapi's `schemaconv`.
 */
import { isRawNumber } from "#schema/raw-number.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { compareText, keyElement, valueElement } from "./field-set.ts";
import { isArray, isObject, type JsonObject, member } from "./json-value.ts";

/** Special types without fields of their own. The structure of the others is deduced from the value. */
const wholeTypes: ReadonlySet<SpecialType> = new Set<SpecialType>([
  "time",
  "microTime",
  "duration",
  "quantity",
  "intOrString",
  "rawExtension",
]);

/** What a value is to apply. A `leaf` is scalar, atomic, or of a type that is taken as a whole. */
export type Shape = "map" | "list" | "leaf" | "null";

/** `undefined` for a schema: the structure is deduced from the value, lists being atomic. */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "object") return "leaf";
  if (schema === undefined) return isArray(value) || isRawNumber(value) ? "leaf" : "map";
  if (schema.special !== undefined && wholeTypes.has(schema.special)) return "leaf";
  if (isArray(value)) return schema.type === "array" && listRuleOf(schema) !== undefined ? "list" : "leaf";
  return schema.mapType === "atomic" || isRawNumber(value) ? "leaf" : "map";
}

/** Schema of a member; `undefined` when its structure is deduced from the value. */
export function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema === undefined) return undefined;
  return schema.type === "map" ? schema.items : schema.fields?.get(name)?.schema;
}

/** Whether a type is taken whole, whatever its structure would be. */
export const isWhole = (schema: Schema): boolean => schema.special !== undefined && wholeTypes.has(schema.special);

/** How items of a list are told apart: by these fields, or by themselves when there are none. */
export interface ListRule {
  /** Sorted. */
  readonly keys: readonly string[];
  /** Values of keys that an item leaves out; `undefined` for none. */
  readonly defaults: readonly unknown[];
}

const listRules = new WeakMap<Schema, ListRule | null>();

/** `undefined` for atomic lists. */
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
  const sorted = keys.toSorted(compareText);
  return { keys: sorted, defaults: sorted.map((key) => keyDefault(schema.items?.fields?.get(key))) };
}

const keyDefault = (field: Field | undefined): unknown => field?.default ?? field?.schema.default;

/** The element of a list item; `undefined` when it cannot have one. */
export function itemElement(rule: ListRule, item: unknown): string | undefined {
  if (rule.keys.length === 0) {
    if (item === undefined || (typeof item === "object" && !isRawNumber(item))) return undefined;
    return valueElement(item);
  }
  if (!isObject(item)) return undefined;
  const fields: [string, unknown][] = [];
  for (let i = 0; i < rule.keys.length; i++) {
    const key = rule.keys[i]!;
    const given = member(item, key);
    const value = given === undefined ? rule.defaults[i] : given;
    if (value === undefined) return undefined;
    fields.push([key, value]);
  }
  return keyElement(fields);
}

/** Whether an object has no members. */
export function isBare(object: JsonObject): boolean {
  for (const name in object) if (object[name] !== undefined) return false;
  return true;
}
