/**
 * Adapts field sets to a schema that changed after they were written. A manager of parts of a value that is now atomic
 * owns the whole value. Parts of a value that was atomic have no managers until an apply names them. Source:
 * structured-merge-diff's `ReconcileFieldSetWithSchema`. Hot path: each set is walked once per schema.
 */
import type { Schema } from "#schema/schema.ts";
import { childrenOf, type FieldSet, isMemberNode, leafNode, makeNode } from "./field-set.ts";
import { isWhole, listRuleOf, memberSchema } from "./topology.ts";

const reconciled = new WeakMap<FieldSet, Schema>();

/** The set itself when it is in line. */
export function reconcileFields(schema: Schema, set: FieldSet): FieldSet {
  if (reconciled.get(set) === schema) return set;
  const result = reconcileNode(schema, set);
  reconciled.set(result, schema);
  return result;
}

/** Tells that a set was made by this schema. */
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
  // Items of lists are mostly alike.
  let lastItem: FieldSet | undefined;
  let lastMade: FieldSet | undefined;
  const nodes = elements.map((element) => {
    const child = node[element]!;
    const isField = element.startsWith("f:");
    if (isField === isList) return child;
    if (isField) {
      const made = reconcileNode(memberSchema(schema, element.slice(2)), child);
      if (made !== child) isSame = false;
      return made;
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
