/** Removes a set of fields from a value, to drop fields that no manager applies any more. */
import type { Schema } from "#schema/schema.ts";
import { setKey } from "#schema/json-values.ts";
import { type FieldSet, isMemberNode } from "./field-set.ts";
import { type DraftObject, type JsonObject } from "./json-value.ts";
import {
  elementsOf,
  itemElement,
  listRuleOf,
  memberSchema,
  rememberElements,
  sameElements,
  shapeOf,
} from "./topology.ts";

/**
 * Returns the value without the set's fields, or the same value when it has none of them. A struct or list that becomes
 * empty is null, and so is an atomic value if the set names a part of it.
 */
export function removeFields(schema: Schema | undefined, value: unknown, set: FieldSet): unknown {
  if (typeof value !== "object" || value === null) return value;
  const shape = shapeOf(schema, value);
  if (shape === "map") return removeMembers(schema, value as JsonObject, set); // the shape says so
  return shape === "list" ? removeItems(schema!, value as readonly unknown[], set) : null; // a list has a schema
}

function removeMembers(schema: Schema | undefined, object: JsonObject, set: FieldSet): JsonObject | null {
  const rest: DraftObject = {};
  let isChanged = false;
  let isEmpty = true;
  for (const name of Object.keys(object)) {
    const node = set[`f:${name}`];
    let value = object[name];
    if (node !== undefined) {
      if (isMemberNode(node)) {
        isChanged = true;
        continue;
      }
      value = removeFields(memberSchema(schema, name), value, node);
      if (value !== object[name]) isChanged = true;
    }
    setKey(rest, name, value);
    isEmpty = false;
  }
  if (isEmpty) return null;
  return isChanged ? rest : object;
}

function removeItems(schema: Schema, list: readonly unknown[], set: FieldSet): readonly unknown[] | null {
  const rule = listRuleOf(schema)!; // the shape says that it has one
  const restItems: unknown[] = [];
  const keptElements: (string | undefined)[] = [];
  let isChanged = false;
  const elements = elementsOf(rule, list);
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const element = elements[i];
    const node = element === undefined ? undefined : set[element];
    if (node !== undefined && isMemberNode(node)) {
      isChanged = true;
      continue;
    }
    const rest = node === undefined ? item : removeFields(schema.items, item, node);
    if (rest !== item) isChanged = true;
    restItems.push(rest);
    // A key may be among the removed fields.
    keptElements.push(rest === item ? element : itemElement(rule, rest));
  }
  if (restItems.length === 0) return null;
  if (!isChanged) return list;
  rememberElements(rule, restItems, sameElements(elements, keptElements) ? elements : keptElements);
  return restItems;
}
