/**
 * The field set of a value, and the fields in which two values differ, by schema: structs and maps by member, keyed
 * lists and sets by item, atomic values as a whole. Hot path: identical objects are not visited, so a comparison costs
 * only the changed parts. Source: structured-merge-diff's `typed` package and kube-openapi's `schemaconv`.
 */
import type { Field, Schema } from "#schema/schema.ts";
import { setKey } from "#schema/json-values.ts";
import { compareCodePoints } from "#std/code-points.ts";
import { isObject } from "#std/is-object.ts";
import { emptyFieldSet, type FieldSet, leafNode, likeBefore, makeNode, sortedNode } from "./field-set.ts";
import { type DraftObject, type JsonObject, jsonEquals, member } from "./json-value.ts";
import { keptNodesOf } from "./kept-nodes.ts";
import { structElements } from "./struct-elements.ts";
import {
  type Elements,
  elementsOf,
  hasRepeats,
  isBare,
  itemElement,
  type ListRule,
  listRuleOf,
  sameElements,
  memberSchema,
  shapeOf,
} from "./topology.ts";

/** The paths that differ, each in only one of the sets. */
export interface FieldChanges {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const noChanges: FieldChanges = { added: emptyFieldSet, modified: emptyFieldSet, removed: emptyFieldSet };

/** Members of `metadata` that are never owned. */
export const unownedMetadata: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
]);

const unownedTop: ReadonlySet<string> = new Set(["apiVersion", "kind"]);

/**
 * Returns the differences of `next` from `old`, both whole values of the schema. `null` is a value; a missing member is
 * not. Duplicate items of keyed lists and sets count as one atomic item; items without their keys are skipped.
 */
export function compareTyped(schema: Schema, old: unknown, next: unknown): FieldChanges {
  const { added, modified, removed } = compareNodes(schema, old, next) ?? noChanges;
  return toChanges(added, modified, removed);
}

/**
 * Returns the differences of two API objects in fields that can be owned: without `apiVersion`, `kind`, and the
 * server's fields in `metadata`. `old` is `undefined` for a create, which is compared with the zero value of the type.
 */
export function compareObjects(schema: Schema, old: JsonObject | undefined, next: JsonObject): FieldChanges {
  const before = old ?? zeroOf(schema);
  const out = compareMembers(schema, before, next, unownedTop);
  return out === undefined
    ? noChanges
    : toChanges(finish(out.added, false), finish(out.modified, false), finish(out.removed, false));
}

const toChanges = (
  added: FieldSet | undefined,
  modified: FieldSet | undefined,
  removed: FieldSet | undefined,
): FieldChanges => ({
  added: added ?? emptyFieldSet,
  modified: modified ?? emptyFieldSet,
  removed: removed ?? emptyFieldSet,
});

/**
 * Returns all fields of a value, as an applier of it would own them. Structs are not members themselves, unless empty.
 */
export function fieldsOf(schema: Schema, value: unknown): FieldSet {
  const node = ownedNode(schema, value, false);
  return node === undefined || node === leafNode ? emptyFieldSet : node;
}

/** Returns the node of an added or removed value: each of its fields is a member. */
function wholeNode(schema: Schema | undefined, value: unknown): FieldSet {
  const shape = shapeOf(schema, value);
  // Values without a type may be deep, so that each of their levels takes little of the stack. A value that does not fit
  // its type is a map of a list's type.
  const isTyped = schema !== undefined && schema.type !== "array";
  if (shape === "map") return isTyped ? wholeMap(schema, value as JsonObject) : sortedMap(schema, value as JsonObject); // the shape says so
  return shape === "list" ? wholeList(schema!, value as readonly unknown[]) : leafNode; // a list has a schema
}

function wholeMap(schema: Schema, value: JsonObject): FieldSet {
  const members = Object.keys(value);
  const kept = keptNodesOf(schema);
  let step = kept.start(members.length);
  if (step === undefined) return sortedMap(schema, value);
  const names: string[] = [];
  const nodes: FieldSet[] = [];
  for (const name of members) {
    const inner = value[name];
    if (inner === undefined) continue;
    const node = typeof inner === "object" ? wholeNode(memberSchema(schema, name), inner) : leafNode;
    names.push(name);
    nodes.push(node);
    step &&= kept.with(step, name, node);
  }
  if (step?.node !== undefined) return step.node;
  const struct = structElements(schema);
  const elements = names.map((name) => struct?.of(name) ?? `f:${name}`);
  const node = sortedNode(true, elements, nodes) ?? leafNode;
  if (step !== undefined) kept.keep(step, node, names.length);
  return node;
}

/** Returns the node of a value that may have many members, or many levels. */
function sortedMap(schema: Schema | undefined, value: JsonObject): FieldSet {
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  for (const name of sortedNames(Object.keys(value))) {
    const inner = value[name];
    if (inner === undefined) continue;
    elements.push(`f:${name}`);
    nodes.push(typeof inner === "object" ? wholeNode(memberSchema(schema, name), inner) : leafNode);
  }
  return makeNode(true, elements, nodes) ?? leafNode;
}

function wholeList(schema: Schema, list: readonly unknown[]): FieldSet {
  const rule = listRuleOf(schema)!; // the shape of the list says that it has a rule
  const kept = keptNodesOf(schema);
  let step = kept.start(list.length);
  const nodes = nodesOf(list, (item) => wholeNode(schema.items, item));
  for (let at = 0; at < list.length && step !== undefined; at++) {
    const name = nameOfItem(rule, list[at]);
    step = name === undefined ? undefined : kept.with(step, name, nodes[at]!);
  }
  if (step?.node !== undefined) return step.node;
  const draft = draftOf(rule, list, nodes);
  const node = finish(draft, true) ?? leafNode;
  // The nodes of items that occur twice are not those of the list.
  if (step !== undefined && draft.nodes === nodes) kept.keep(step, node, nodes.length);
  return node;
}

/** Returns a text that no other item of a list has, unless it has the same element; `undefined` for an unusual key. */
function nameOfItem(rule: ListRule, item: unknown): string | undefined {
  if (rule.keys.length !== 1) return itemElement(rule, item);
  const key = isObject(item) ? member(item, rule.keys[0]!) : undefined;
  return typeof key === "string" ? key : undefined;
}

/** Returns the nodes of the items of a list. */
function nodesOf(list: readonly unknown[], nodeOf: (item: unknown) => FieldSet): FieldSet[] {
  let before: FieldSet | undefined;
  return list.map((item) => (before = likeBefore(nodeOf(item), before)));
}

/** Returns the nodes of items by their elements. Items with the same element are one item without parts. */
function draftOf(rule: ListRule, list: readonly unknown[], nodes: readonly FieldSet[]): Draft {
  const elements = elementsOf(rule, list);
  if (!hasRepeats(elements)) return { elements: elements as readonly string[], nodes }; // none is missing
  const byElement = new Map<string, FieldSet>();
  for (const [at, element] of elements.entries()) {
    if (element !== undefined) byElement.set(element, byElement.has(element) ? leafNode : nodes[at]!);
  }
  return { elements: [...byElement.keys()], nodes: [...byElement.values()] };
}

/** Several items of one element. */
class Repeated {
  readonly items: unknown[];

  constructor(first: unknown, second: unknown) {
    this.items = [first, second];
  }
}

/** Returns items, or `Repeated` ones, by element. */
function itemsByElement(elements: Elements, list: readonly unknown[]): Map<string, unknown> {
  const byElement = new Map<string, unknown>();
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    const element = elements[i];
    if (element === undefined) continue;
    const same = byElement.get(element);
    if (same === undefined) byElement.set(element, item);
    else if (same instanceof Repeated) same.items.push(item);
    else byElement.set(element, new Repeated(same, item));
  }
  return byElement;
}

/** The children of a node, in any order. */
interface Draft {
  readonly elements: readonly string[];
  readonly nodes: readonly FieldSet[];
}

/** A draft to which children are still added. */
interface GrowingDraft extends Draft {
  elements: string[];
  readonly nodes: FieldSet[];
}

/** The changes below a node. */
interface Drafts {
  added: GrowingDraft | undefined;
  modified: GrowingDraft | undefined;
  removed: GrowingDraft | undefined;
}

function push(draft: GrowingDraft, element: string, node: FieldSet): void {
  draft.elements.push(element);
  draft.nodes.push(node);
}

/** The nodes of one element in the three sets; `undefined` when it is in none of them. */
interface NodeChanges {
  readonly added?: FieldSet | undefined;
  readonly modified?: FieldSet | undefined;
  readonly removed?: FieldSet | undefined;
}

function record(out: Drafts, element: string, changes: NodeChanges | undefined): void {
  if (changes === undefined) return;
  for (const where of ["added", "modified", "removed"] as const) {
    const node = changes[where];
    if (node === undefined) continue;
    const draft = (out[where] ??= { elements: [], nodes: [] });
    push(draft, element, likeBefore(node, draft.nodes.at(-1)));
  }
}

/** Makes the node of a draft, with its children sorted. */
function finish(draft: Draft | undefined, isMember: boolean): FieldSet | undefined {
  if (draft === undefined) return makeNode(isMember, [], []);
  return sortedNode(isMember, draft.elements, draft.nodes);
}

/** Compares the values at one element; `undefined` is an absent side. `skip` names members that are not compared. */
function compareNodes(
  schema: Schema | undefined,
  old: unknown,
  next: unknown,
  skip?: ReadonlySet<string>,
): NodeChanges | undefined {
  if (old === next) return undefined;
  if (old === undefined) return { added: wholeNode(schema, next) };
  if (next === undefined) return { removed: wholeNode(schema, old) };
  const before = shapeOf(schema, old);
  const after = shapeOf(schema, next);
  let inner: Drafts | undefined;
  let isModified = false;
  if (before === "leaf" || after === "leaf") {
    isModified = before !== after || !jsonEquals(old, next);
    // One side has structure that the other lacks: its fields are added or removed with it.
    if (before === "map") inner = compareMembers(schema, old as JsonObject, {}, skip);
    else if (after === "map") inner = compareMembers(schema, {}, next as JsonObject, skip);
  } else if (before === "map" || after === "map") {
    const left = before === "map" ? (old as JsonObject) : {};
    const right = after === "map" ? (next as JsonObject) : {};
    if (before !== after && isBare(left) && isBare(right)) isModified = true;
    else inner = compareMembers(schema, left, right, skip);
  } else if (before === "list" || after === "list") {
    const left = before === "list" ? (old as readonly unknown[]) : [];
    const right = after === "list" ? (next as readonly unknown[]) : [];
    if (before !== after && left.length === 0 && right.length === 0) isModified = true;
    else inner = compareItems(schema!, left, right); // a list has a schema
  }
  if (inner === undefined && !isModified) return undefined;
  return {
    added: inner?.added && finish(inner.added, false),
    modified: isModified || inner?.modified !== undefined ? finish(inner?.modified, isModified) : undefined,
    removed: inner?.removed && finish(inner.removed, false),
  };
}

function compareMembers(
  schema: Schema | undefined,
  old: JsonObject,
  next: JsonObject,
  skip: ReadonlySet<string> | undefined,
): Drafts | undefined {
  const out: Drafts = { added: undefined, modified: undefined, removed: undefined };
  const isTop = skip === unownedTop;
  const struct = structElements(schema);
  for (const name of Object.keys(next)) {
    if (skip?.has(name) === true) continue;
    const after = next[name];
    let before = member(old, name);
    if (before === after) continue;
    if (isTop && name === "metadata") {
      before ??= {};
      record(out, "f:metadata", compareNodes(memberSchema(schema, name), before, after, unownedMetadata));
    } else {
      record(out, struct?.of(name) ?? `f:${name}`, compareNodes(memberSchema(schema, name), before, after));
    }
  }
  for (const name of Object.keys(old)) {
    if (skip?.has(name) === true || Object.hasOwn(next, name)) continue;
    record(out, `f:${name}`, compareNodes(memberSchema(schema, name), old[name], undefined));
  }
  return out.added === undefined && out.modified === undefined && out.removed === undefined ? undefined : out;
}

function compareItems(schema: Schema, old: readonly unknown[], next: readonly unknown[]): Drafts | undefined {
  const rule = listRuleOf(schema)!; // the shape of the lists says that they have one
  const elements = elementsOf(rule, old);
  const nextElements = elementsOf(rule, next);
  const out: Drafts = { added: undefined, modified: undefined, removed: undefined };
  if (sameElements(elements, nextElements) && !hasRepeats(elements)) {
    for (let i = 0; i < old.length; i++) {
      if (old[i] !== next[i]) record(out, elements[i]!, compareNodes(schema.items, old[i], next[i]));
    }
    for (const key of ["added", "modified", "removed"] as const) {
      const draft = out[key];
      // The draft has all elements, whose order may be cached. Nothing is added any more.
      if (draft?.elements.length === elements.length) draft.elements = elements as string[];
    }
    return out;
  }
  const before = itemsByElement(elements, old);
  const after = itemsByElement(nextElements, next);
  for (const [element, item] of before) record(out, element, compareSame(schema.items, item, after.get(element)));
  for (const [element, item] of after) {
    if (!before.has(element)) record(out, element, compareSame(schema.items, undefined, item));
  }
  return out;
}

/** Compares the items of one element, `undefined` for none; several items on a side are an atomic whole. */
function compareSame(schema: Schema | undefined, old: unknown, next: unknown): NodeChanges | undefined {
  const wasRepeated = old instanceof Repeated;
  const isRepeated = next instanceof Repeated;
  if (!wasRepeated && !isRepeated) return compareNodes(schema, old, next);
  if (wasRepeated && isRepeated) return jsonEquals(old.items, next.items) ? undefined : { modified: leafNode };
  if (wasRepeated) return { added: next === undefined ? undefined : wholeNode(schema, next), removed: leafNode };
  return { added: leafNode, removed: old === undefined ? undefined : wholeNode(schema, old) };
}

/**
 * Returns the owned fields of an applied value. `isListed`: the value is a member of a map or an item of a list, which
 * are members themselves.
 */
function ownedNode(schema: Schema | undefined, value: unknown, isListed: boolean): FieldSet | undefined {
  const shape = shapeOf(schema, value);
  if (shape === "leaf" || shape === "null") return leafNode;
  if (shape === "list") {
    const items = schema!.items; // a list has a schema
    const list = value as readonly unknown[]; // the shape says so, and that it has a rule
    const nodes = nodesOf(list, (item) => ownedNode(items, item, true) ?? leafNode);
    const draft = draftOf(listRuleOf(schema!)!, list, nodes);
    return draft.elements.length === 0 && !isListed ? undefined : finish(draft, isListed);
  }
  const draft: GrowingDraft = { elements: [], nodes: [] };
  const object = value as JsonObject; // the shape says so
  for (const name of sortedNames(Object.keys(object))) {
    if (object[name] === undefined) continue;
    const isField = schema?.fields?.has(name) === true;
    const node = ownedNode(memberSchema(schema, name), object[name], !isField);
    if (node !== undefined) push(draft, `f:${name}`, node);
  }
  return finish(draft, isListed || isBare(object));
}

/** Sorts names in place by their bytes. The engine's own order, which is faster, differs for rare characters only. */
function sortedNames(names: string[]): string[] {
  for (let i = 1; i < names.length; i++) {
    if (names[i - 1]! < names[i]!) continue;
    names.sort();
    break;
  }
  for (const name of names) if (/[\ud800-\uffff]/.test(name)) return names.sort(compareCodePoints);
  return names;
}

const zeros = new WeakMap<Schema, JsonObject>();

/** Returns the zero value of a type: members that are always in its JSON, recursively. Empty for custom resources. */
export function zeroOf(schema: Schema): JsonObject {
  let zero = zeros.get(schema);
  if (zero === undefined) {
    zero = makeZero(schema);
    zeros.set(schema, zero);
  }
  return zero;
}

function makeZero(schema: Schema): JsonObject {
  const zero: DraftObject = {};
  for (const [name, field] of schema.fields ?? []) if (field.keep === true) setKey(zero, name, zeroOfField(field));
  return zero;
}

function zeroOfField(field: Field): unknown {
  if (field.ptr === true) return null;
  const { schema } = field;
  if (schema.special === "quantity") return "0";
  if (schema.special === "duration") return "0s";
  if (schema.special === "intOrString") return 0;
  if (schema.special !== undefined) return null;
  if (schema.type === "object") return zeroOf(schema);
  if (schema.type === "string") return schema.format === "byte" ? null : "";
  if (schema.type === "integer" || schema.type === "number") return 0;
  return schema.type === "boolean" ? false : null;
}
