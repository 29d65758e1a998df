/**
 * Adapts field sets to a schema that changed after they were written, and adds the structs that their paths lead
 * through. Source: structured-merge-diff's `typed` package. Hot path: each set is walked once per schema.
 */
import type { Schema } from "#schema/schema.ts";
import { childrenOf, type FieldSet, isMemberNode, leafNode, makeNode } from "./field-set.ts";
import { isWhole, listRuleOf, memberSchema } from "./topology.ts";

const reconciled = new WeakMap<FieldSet, Schema>();

/**
 * Adapts a set to a schema. A manager of parts of a value that is now atomic owns the whole value; parts of a value
 * that was atomic have no managers until an apply names them. Returns the set itself when nothing changes.
 */
export function reconcileFields(schema: Schema, set: FieldSet): FieldSet {
  if (reconciled.get(set) === schema) return set;
  const result = reconcileNode(schema, set);
  reconciled.set(result, schema);
  return result;
}

/** Notes that a set was made by this schema. */
export function markReconciled(schema: Schema, set: FieldSet): FieldSet {
  reconciled.set(set, schema);
  return set;
}

function reconcileNode(schema: Schema | undefined, node: FieldSet): FieldSet {
  if (schema === undefined || isWhole(schema)) return node;
  const elements = childrenOf(node);
  if (elements.length === 0) return node;
  const isList = schema.type === "array";
  if (isList ? listRuleOf(schema) === undefined : schema.mapType === "atomic") return leafNode;
  let isSame = true;
  // Most items of a list are alike.
  let lastItem: FieldSet | undefined;
  let lastMade: FieldSet | undefined;
  const nodes = elements.map((element) => {
    const child = node[element]!;
    const isField = element.startsWith("f:");
    if (isField === isList) return child;
    if (isField) {
      const childSet = reconcileNode(memberSchema(schema, element.slice(2)), child);
      if (childSet !== child) isSame = false;
      return childSet;
    }
    if (child !== lastItem) {
      lastItem = child;
      lastMade = reconcileNode(schema.items, child);
    }
    if (lastMade !== child) isSame = false;
    return lastMade!;
  });
  return isSame ? node : makeNode(isMemberNode(node), elements, nodes)!; // it has children
}

/** Returns the set with every struct member that a path leads through as a member of its own. */
export function withStructs(schema: Schema | undefined, set: FieldSet): FieldSet {
  return withStructsNode(schema, set, false);
}

function withStructsNode(schema: Schema | undefined, node: FieldSet, isMember: boolean): FieldSet {
  const elements = childrenOf(node);
  let isSame = isMember === isMemberNode(node) || elements.length === 0;
  // Most items of a list are alike.
  let lastItem: FieldSet | undefined;
  let lastMade: FieldSet | undefined;
  const nodes = elements.map((element) => {
    const child = node[element]!;
    if (element.startsWith("k:")) {
      if (child !== lastItem) {
        lastItem = child;
        lastMade = withStructsNode(schema?.items, child, isMemberNode(child));
      }
      if (lastMade !== child) isSame = false;
      return lastMade!;
    }
    const name = element.startsWith("f:") ? element.slice(2) : undefined;
    const isField = name !== undefined && schema?.fields?.has(name) === true;
    const below = name === undefined ? undefined : memberSchema(schema, name);
    const childSet = withStructsNode(below, child, isField || isMemberNode(child));
    if (childSet !== child) isSame = false;
    return childSet;
  });
  return isSame ? node : (makeNode(isMember, elements, nodes) ?? node);
}
