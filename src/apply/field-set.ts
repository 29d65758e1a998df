/**
 * Sets of field paths, as managedFields records them. A set *is* its FieldsV1 JSON: an immutable trie whose keys are
 * path elements, so that nothing is parsed or encoded on the way in and out. Hot path: plain code; operations return
 * one of their arguments where nothing changed and visit only what both sides share.
 * Source: structured-merge-diff's `fieldpath`, whose key order this keeps.
 *
 *     { "f:data": { ".": {}, "f:a": {} }, "f:spec": { "f:tags": { "v:\"x\"": {} } } }
 *
 * holds the paths .data, .data.a and .spec.tags[="x"], but neither .spec nor .spec.tags: a node is a member when it is
 * empty or has the key `.`, which comes first. The root is never a member. Keys:
 *
 *     f:<name>      member of a struct or map
 *     k:{...}       item of a list with keys; JSON of the key fields, sorted by name
 *     v:<JSON>      item of a list that is a set
 *     i:<number>    item of a list by index
 */
import { compareCodePoints } from "#std/code-points.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { isArray, type JsonObject } from "./json-value.ts";

/** A canonical FieldsV1 value. Only the functions here make one. */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** A path as the keys of its elements, from the root: `["f:spec", 'k:{"name":"x"}']`. */
export type ElementPath = readonly string[];

/** The set without members. Inside a set the same value is a member without children. */
export const emptyFieldSet: FieldSet = Object.freeze({});

/** A member without children. */
export const leafNode: FieldSet = emptyFieldSet;

export const valueElement = (value: unknown): string => `v:${elementJson(value)}`;

/** Makes the element of a list item from its key fields: names and values, in any order. */
export function keyElement(fields: readonly (readonly [string, unknown])[]): string {
  const sorted = fields.length < 2 ? fields : fields.toSorted(([a], [b]) => compareCodePoints(a, b));
  let text = "k:{";
  for (let i = 0; i < sorted.length; i++) {
    const [name, value] = sorted[i]!;
    text += `${i === 0 ? "" : ","}${elementJson(name)}:${elementJson(value)}`;
  }
  return `${text}}`;
}

/** Returns the beginning of the element of an item with one key, for `singleKeyElement`. */
export const keyOpening = (name: string): string => `k:{${elementJson(name)}:`;

/** Does the same as `keyElement` for one key. */
export const singleKeyElement = (opening: string, value: unknown): string => `${opening}${elementJson(value)}}`;

/** Whether a set, which is a root, has no members: inside a set, an empty node is a member. */
export const isEmptySet = (set: FieldSet): boolean => !hasKeys(set);

function hasKeys(node: FieldSet): boolean {
  if (node === leafNode || childrenOfWideNodes.has(node)) return node !== leafNode;
  for (const _ in node) return true;
  return false;
}

/**
 * Cached children of nodes with many children, since V8's `for … in` collects all keys before the first one is seen.
 */
const childrenOfWideNodes = new WeakMap<FieldSet, readonly string[]>();
const wideMin = 128;

/** Whether a node below the root is a member itself. */
export const isMemberNode = (node: FieldSet): boolean => node["."] !== undefined || !hasKeys(node);

/** Whether exactly this path is in the set. */
export function hasPath(set: FieldSet, path: ElementPath): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return path.length > 0 && isMemberNode(node);
}

/** Makes the set of these paths; parents are not added. The empty path is ignored. */
export function fieldSetOf(paths: readonly ElementPath[]): FieldSet {
  return paths.reduce((set, path) => (path.length === 0 ? set : union(set, pathSet(path))), emptyFieldSet);
}

const pathSet = (path: ElementPath): FieldSet => path.reduceRight((node, element) => ({ [element]: node }), leafNode);

/** Yields all paths of the set, in order. */
export function* pathsOf(set: FieldSet, above: ElementPath = []): Generator<ElementPath> {
  for (const element of Object.keys(set)) {
    if (element === ".") continue;
    const path = [...above, element];
    const node = set[element]!;
    if (isMemberNode(node)) yield path;
    yield* pathsOf(node, path);
  }
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  const children = childrenOf(a);
  if (children.length !== childrenOf(b).length || (a["."] === undefined) !== (b["."] === undefined)) return false;
  let last: readonly [FieldSet, FieldSet] | undefined;
  for (const element of children) {
    const mine = a[element]!;
    const theirs = b[element];
    if (theirs === undefined) return false;
    if (last?.[0] === mine && last[1] === theirs) continue;
    if (!equalSets(mine, theirs)) return false;
    last = [mine, theirs];
  }
  return true;
}

/**
 * Makes a node from children in order; it keeps the lists, which must not be changed. `undefined` when the node would
 * be empty; callers that make a root write `?? emptyFieldSet`.
 */
export function makeNode(
  isMember: boolean,
  elements: readonly string[],
  nodes: readonly FieldSet[],
): FieldSet | undefined {
  if (elements.length === 0) return isMember ? leafNode : undefined;
  const node: Record<string, FieldSet> = {};
  if (isMember) node["."] = leafNode;
  for (let i = 0; i < elements.length; i++) node[elements[i]!] = nodes[i]!;
  if (elements.length >= wideMin) childrenOfWideNodes.set(node, elements);
  return node;
}

/** Returns `before` if it equals `node`. Neighbours in a list often do, and identical objects are quick to compare. */
export function likeBefore(node: FieldSet, before: FieldSet | undefined): FieldSet {
  if (before === undefined || node === before) return node;
  let count = 0;
  for (const key in node) {
    if (node[key] !== before[key]) return node;
    count++;
  }
  for (const _ in before) count--;
  return count === 0 ? before : node;
}

/** Returns the paths of `a` or `b`. */
export const union = (a: FieldSet, b: FieldSet): FieldSet =>
  !hasKeys(b) ? a : !hasKeys(a) ? b : (uniteNodes(a, b, false) ?? emptyFieldSet);

function uniteNodes(a: FieldSet, b: FieldSet, isMember: boolean): FieldSet | undefined {
  const left = childrenOf(a);
  const right = childrenOf(b);
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  let addsToLeft = isMember && a["."] === undefined && left.length > 0;
  let last: Last | undefined;
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const order = i >= left.length ? 1 : j >= right.length ? -1 : compareElements(left[i]!, right[j]!);
    if (order < 0) {
      const element = left[i++]!;
      elements.push(element);
      nodes.push(a[element]!);
    } else if (order > 0) {
      const element = right[j++]!;
      elements.push(element);
      nodes.push(b[element]!);
      addsToLeft = true;
    } else {
      const element = left[i++]!;
      j++;
      const mine = a[element]!;
      const theirs = b[element]!;
      if (last?.mine !== mine || last.theirs !== theirs) {
        const both = isMemberNode(mine) || isMemberNode(theirs);
        last = { mine, theirs, node: mine === theirs ? mine : uniteNodes(mine, theirs, both)! };
      }
      const node = last.node!;
      elements.push(element);
      nodes.push(node);
      if (node !== mine) addsToLeft = true;
    }
  }
  return addsToLeft ? makeNode(isMember, elements, nodes) : a;
}

/** The last two nodes and their result. Nodes of list items are often the same objects and are then combined once. */
interface Last {
  readonly mine: FieldSet;
  readonly theirs: FieldSet;
  readonly node: FieldSet | undefined;
}

/** Returns the union of sets. Its cost is their total size, independent of their number. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const filled = sets.filter(hasKeys);
  if (filled.length < 3) return filled.length === 0 ? emptyFieldSet : union(filled[0]!, filled[1] ?? emptyFieldSet);
  return uniteAll(filled, false) ?? emptyFieldSet;
}

function uniteAll(nodes: readonly FieldSet[], isMember: boolean): FieldSet | undefined {
  const children = new Map<string, FieldSet[]>();
  for (const node of nodes) {
    for (const element of childrenOf(node)) {
      const same = children.get(element);
      if (same === undefined) children.set(element, [node[element]!]);
      else same.push(node[element]!);
    }
  }
  const elements = [...children.keys()];
  const united = elements.map((element) => {
    const same = children.get(element)!;
    return same.length === 1 ? same[0]! : uniteAll(same, same.some(isMemberNode))!;
  });
  return sortedNode(isMember, elements, united);
}

/** Does the same as `makeNode` with children in any order. */
export function sortedNode(
  isMember: boolean,
  elements: readonly string[],
  nodes: readonly FieldSet[],
): FieldSet | undefined {
  const order = elements.length < wideMin ? sortedOrder(elements) : wideOrder(elements);
  if (order === undefined) return makeNode(isMember, elements, nodes);
  return makeNode(
    isMember,
    order.sorted,
    order.indexes.map((at) => nodes[at]!),
  );
}

interface Order {
  readonly sorted: readonly string[];
  readonly indexes: readonly number[];
}

function sortedOrder(elements: readonly string[]): Order | undefined {
  const indexes = orderOf(elements);
  return indexes === undefined ? undefined : { sorted: indexes.map((at) => elements[at]!), indexes };
}

/** Cached orders of long lists that are used again, such as the elements of a list; `null` for lists that are in order. */
const orders = new WeakMap<readonly string[], Order | null>();

function wideOrder(elements: readonly string[]): Order | undefined {
  let order = orders.get(elements);
  if (order === undefined) {
    order = sortedOrder(elements) ?? null;
    orders.set(elements, order);
  }
  return order ?? undefined;
}

/** Returns the paths that are in both `a` and `b`. */
export const intersection = (a: FieldSet, b: FieldSet): FieldSet => intersectNodes(a, b, false) ?? emptyFieldSet;

function intersectNodes(a: FieldSet, b: FieldSet, isMember: boolean): FieldSet | undefined {
  if (a === b) return a;
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  const left = childrenOf(a);
  const right = childrenOf(b);
  let last: Last | undefined;
  // Both lists are sorted, so the shorter one may lead.
  for (const element of left.length <= right.length ? left : right) {
    const theirs = b[element];
    const mine = a[element];
    if (mine === undefined || theirs === undefined) continue;
    if (last?.mine !== mine || last.theirs !== theirs) {
      const isBoth = isMemberNode(mine) && isMemberNode(theirs);
      last = { mine, theirs, node: intersectNodes(mine, theirs, isBoth) };
    }
    const { node } = last;
    if (node === undefined) continue;
    elements.push(element);
    nodes.push(node);
  }
  return makeNode(isMember, elements, nodes);
}

/** Returns the paths of `a` that are not in `b`. A path of `a` stays when only paths above or below it are in `b`. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet =>
  subtractNodes(a, b, false, false, false) ?? emptyFieldSet;

/** Returns the paths of `a` that neither are in `b` nor lie below a path in `b`. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet =>
  subtractNodes(a, b, false, false, true) ?? emptyFieldSet;

function subtractNodes(
  a: FieldSet,
  b: FieldSet,
  isMemberOfA: boolean,
  staysMember: boolean,
  recursive: boolean,
): FieldSet | undefined {
  const children = childrenOf(a);
  if (isMemberOfA === staysMember && !mayShare(a, b, children)) return a;
  const elements: string[] = [];
  const nodes: FieldSet[] = [];
  let isSame = isMemberOfA === staysMember;
  let last: Last | undefined;
  for (const element of children) {
    const mine = a[element]!;
    const theirs = b[element];
    let node: FieldSet | undefined = mine;
    if (theirs !== undefined) {
      if (last?.mine !== mine || last.theirs !== theirs) {
        const memberHere = isMemberNode(mine);
        const memberThere = isMemberNode(theirs);
        const isGone = recursive && memberThere;
        const rest = isGone
          ? undefined
          : subtractNodes(mine, theirs, memberHere, memberHere && !memberThere, recursive);
        last = { mine, theirs, node: rest };
      }
      node = last.node;
    }
    if (node !== mine) isSame = false;
    if (node === undefined) continue;
    elements.push(element);
    nodes.push(node);
  }
  return isSame ? a : makeNode(staysMember, elements, nodes);
}

/** Whether any child element of one node is one of the other; visits the smaller one. */
function mayShare(a: FieldSet, b: FieldSet, children: readonly string[]): boolean {
  const others = childrenOf(b);
  if (others.length < children.length) {
    for (const element of others) if (a[element] !== undefined) return true;
  } else {
    for (const element of children) if (b[element] !== undefined) return true;
  }
  return false;
}

/** Returns the elements of a node's children, in order. */
export function childrenOf(node: FieldSet): readonly string[] {
  if (node === leafNode) return noElements;
  const listed = childrenOfWideNodes.get(node);
  if (listed !== undefined) return listed;
  const keys = Object.keys(node);
  if (keys.length > 0 && keys[0] === ".") keys.shift();
  if (keys.length >= wideMin) childrenOfWideNodes.set(node, keys);
  return keys;
}

const noElements: readonly string[] = [];

/** Sets that are known to be canonical: made here, or checked before. */
const canonicalSets = new WeakSet<object>();

/** The maximum depth of a set; deeper ones are refused. */
const depthMax = 500;

/**
 * Parses a FieldsV1 value of unknown origin: sorts, normalizes, and drops unknown kinds of elements. `undefined` for
 * invalid values. Canonical values are returned unchanged and remembered, so that parsing one again is free.
 */
export function parseFieldSet(value: unknown): FieldSet | undefined {
  if (value === undefined || value === null) return emptyFieldSet;
  if (!isObject(value)) return undefined;
  if (canonicalSets.has(value)) return value as FieldSet; // was found to be one
  let set: FieldSet | undefined;
  if (isCanonical(value, true, 0)) {
    set = value as FieldSet; // just found to be one
  } else {
    const root = readNode(value, 0);
    set = root === undefined ? undefined : (makeNode(false, ...root) ?? emptyFieldSet);
  }
  if (set !== undefined && set !== emptyFieldSet) canonicalSets.add(set);
  return set;
}

/** Marks a set made by this folder as canonical, so that it is not checked again. */
export function rememberSet(set: FieldSet): FieldSet {
  canonicalSets.add(set);
  return set;
}

function isCanonical(node: JsonObject, isRoot: boolean, depth: number): boolean {
  if (depth > depthMax) return false;
  const keys = Object.keys(node);
  let last: string | undefined;
  for (const key of keys) {
    const child = node[key];
    if (!isObject(child)) return false;
    if (key === ".") {
      if (isRoot || last !== undefined || keys.length === 1 || Object.keys(child).length > 0) return false;
      continue;
    }
    if (key.charCodeAt(0) === letterF ? key.charCodeAt(1) !== colon : canonicalElement(key) !== key) return false;
    if (last !== undefined && compareElements(last, key) >= 0) return false;
    last = key;
    if (!isCanonical(child, false, depth + 1)) return false;
  }
  return true;
}

type Children = [elements: string[], nodes: FieldSet[]];

function readNode(value: JsonObject, depth: number): Children | undefined {
  if (depth > depthMax) return undefined;
  const byElement = new Map<string, FieldSet>();
  for (const key of Object.keys(value)) {
    if (key === ".") continue;
    const element = canonicalElement(key);
    if (element === undefined) return undefined;
    if (element === "") continue;
    const inner = value[key] ?? {};
    if (!isObject(inner)) return undefined;
    const children = readNode(inner, depth + 1);
    if (children === undefined) return undefined;
    const isMember = Object.hasOwn(inner, ".") || Object.keys(inner).length === 0;
    const node = makeNode(isMember, ...children);
    if (node !== undefined) byElement.set(element, node);
  }
  const elements = [...byElement.keys()];
  const order = orderOf(elements);
  const sorted = order === undefined ? elements : order.map((at) => elements[at]!);
  return [sorted, sorted.map((element) => byElement.get(element)!)];
}

/** Matches most keys and values: one key with a plain string or integer, or such a value alone. */
const plainKey =
  /^(?:k:\{"[\w.-]+":(?:"[ !#-%'-;=?-[\]-~]*"|0|-?[1-9][0-9]{0,14})\}|v:(?:"[ !#-%'-;=?-[\]-~]*"|0|-?[1-9][0-9]{0,14}))$/;

/** Returns the canonical form of a path element; empty for an unknown kind, `undefined` for an invalid element. */
function canonicalElement(key: string): string | undefined {
  if (plainKey.test(key)) return key;
  if (key.length < 2 || key.charCodeAt(1) !== colon) return undefined;
  const kind = key[0];
  if (kind === "f") return key;
  const text = key.slice(2);
  if (kind === "i") return /^[+-]?[0-9]{1,15}$/.test(text) ? `i:${Number(text) + 0}` : undefined; // -0 becomes 0
  if (kind !== "k" && kind !== "v") return "";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (kind === "v") return valueElement(value);
  return isObject(value) ? keyElement(Object.entries(value)) : undefined;
}

const minus = 0x2d;
const digit0 = 0x30;
const digit9 = 0x39;
const colon = 0x3a;
const comma = 0x2c;
const quote = 0x22;
const closingBrace = 0x7d;
const letterF = 0x66;
const letterK = 0x6b;

const kindRank: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** Compares elements in the order of FieldsV1: by kind, then names in byte order of UTF-8, keys by name and value, values by type. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kind = a.charCodeAt(0);
  if (kind !== b.charCodeAt(0)) return (kindRank[a[0]!] ?? 4) - (kindRank[b[0]!] ?? 4);
  if (kind === letterF) return compareCodePoints(a, b);
  const order = compareWritten(a, b);
  return Number.isNaN(order) ? compareValues(contentOf(a), contentOf(b)) : order;
}

/**
 * Compares two elements of one kind that differ in one text without escapes or one short whole number, without parsing
 * them; NaN for others.
 *
 *     k:{"name":"web"}  k:{"name":"web-1"}      the texts differ behind their common beginning
 *     k:{"port":80}     k:{"port":443}          the digits around the first difference are the numbers
 */
function compareWritten(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 2;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  let start = at;
  while (start > 2 && isNumberPart(a.charCodeAt(start - 1))) start--;
  if (isValueStart(a, start) && (isNumberPart(a.charCodeAt(start)) || isNumberPart(b.charCodeAt(start)))) {
    const left = numberAt(a, start);
    const right = numberAt(b, start);
    if (!Number.isNaN(left) && !Number.isNaN(right) && left !== right) return left - right;
  }
  const open = a.lastIndexOf('"', at - 1);
  if (open < 0 || !isValueStart(a, open) || a.includes("\\") || b.includes("\\")) return Number.NaN;
  const x = a.charCodeAt(at);
  const y = b.charCodeAt(at);
  if (x === quote) return -1;
  if (y === quote) return 1;
  // Surrogates sort after U+E000–U+FFFF, as in code point order.
  return x >= 0xd800 && y >= 0xd800 ? ((x + 0x2000) & 0xffff) - ((y + 0x2000) & 0xffff) : x - y;
}

const isNumberPart = (code: number): boolean => code === minus || (code >= digit0 && code <= digit9);

/** Whether a value begins at `start`: right after the kind, or after the name of a key. */
const isValueStart = (element: string, at: number): boolean =>
  at === 2 ? element.charCodeAt(0) !== letterK : element.charCodeAt(at - 1) === colon && element[at - 2] === '"';

/** Returns the whole number that begins at `start`; NaN when there is none, or it is not exact. */
function numberAt(element: string, start: number): number {
  let end = start;
  while (isNumberPart(element.charCodeAt(end))) end++;
  const after = element.charCodeAt(end);
  const ends = Number.isNaN(after) || after === comma || after === closingBrace;
  return ends && end > start && end - start < 16 ? Number(element.slice(start, end)) : Number.NaN;
}

/** Returns the content of a path element that names no field. */
export const contentOf = (element: string): unknown => JSON.parse(element.slice(2));

/**
 * Returns the sorted positions of elements; `undefined` when they are in order already. Parses each element once at
 * most.
 */
function orderOf(elements: readonly string[]): number[] | undefined {
  if (arePlainTexts(elements)) return plainOrderOf(elements);
  let at = 1;
  while (at < elements.length && compareElements(elements[at - 1]!, elements[at]!) < 0) at++;
  if (at >= elements.length) return undefined;
  const contents: unknown[] = [];
  const content = (i: number): unknown => {
    if (contents[i] === undefined) contents[i] = contentOf(elements[i]!);
    return contents[i];
  };
  return elements
    .map((_, i) => i)
    .sort((i, j) => {
      const a = elements[i]!;
      const b = elements[j]!;
      const kind = a.charCodeAt(0);
      if (kind === letterF || kind !== b.charCodeAt(0)) return compareElements(a, b);
      const order = compareWritten(a, b);
      return Number.isNaN(order) ? compareValues(content(i), content(j)) : order;
    });
}

/** Matches an item whose only value is a text of characters that sort after the quote behind it. */
const plainItem = /^(k:\{"[\w.-]+":"|v:")[\w.:/-]*"\}?$/;

/** Whether all elements are plain texts of the same key; these have the order of JavaScript. */
function arePlainTexts(elements: readonly string[]): boolean {
  if (elements.length < 2) return false;
  const key = plainItem.exec(elements[0]!)?.[1];
  return key !== undefined && elements.every((element) => element.startsWith(key) && plainItem.test(element));
}

function plainOrderOf(elements: readonly string[]): number[] | undefined {
  let at = 1;
  while (at < elements.length && elements[at - 1]! < elements[at]!) at++;
  if (at >= elements.length) return undefined;
  return elements.map((_, i) => i).sort((i, j) => (elements[i]! < elements[j]! ? -1 : 1));
}

/**
 * Compares values: numbers, then strings, booleans, lists, objects, null. Source: structured-merge-diff's
 * `value.Compare`.
 */
function compareValues(a: unknown, b: unknown): number {
  const rank = valueRank(a) - valueRank(b);
  if (rank !== 0) return rank;
  if (typeof a === "number" || typeof a === "bigint") return a < (b as number) ? -1 : a > (b as number) ? 1 : 0; // same rank
  if (typeof a === "string") return compareCodePoints(a, b as string); // same rank
  if (typeof a === "boolean") return Number(a) - Number(b);
  if (isArray(a)) {
    const other = b as readonly unknown[]; // same rank
    for (let i = 0; i < Math.min(a.length, other.length); i++) {
      const order = compareValues(a[i], other[i]);
      if (order !== 0) return order;
    }
    return a.length - other.length;
  }
  if (a === null) return 0;
  const left = Object.entries(a as JsonObject).sort(([x], [y]) => compareCodePoints(x, y)); // same rank: an object
  const right = Object.entries(b as JsonObject).sort(([x], [y]) => compareCodePoints(x, y)); // the same
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = compareCodePoints(left[i]![0], right[i]![0]) || compareValues(left[i]![1], right[i]![1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function valueRank(value: unknown): number {
  if (typeof value === "number" || typeof value === "bigint") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  return isArray(value) ? 3 : value === null ? 5 : 4;
}

/** Matches texts that need no escapes. */
const plainText = /^[ !#-%'-;=?-[\]-~]*$/;

/**
 * Encodes JSON inside an element as Go's encoder does: `<`, `>`, `&` and line separators are escaped, members are
 * sorted.
 */
function elementJson(value: unknown): string {
  if (typeof value === "string") {
    if (plainText.test(value)) return `"${value}"`;
    const text = JSON.stringify(value);
    return /[<>&\u2028\u2029\b\f]/.test(value) ? text.replace(/[<>&\u2028\u2029]|\\[bf]/g, escapeAsGo) : text;
  }
  if (typeof value !== "object" || value === null) return String(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (isArray(value)) return `[${value.map(elementJson).join(",")}]`;
  const members = Object.entries(value as JsonObject).sort(([a], [b]) => compareCodePoints(a, b)); // an object that is no array
  return `{${members.map(([name, inner]) => `${elementJson(name)}:${elementJson(inner)}`).join(",")}}`;
}

function escapeAsGo(text: string): string {
  const code = text === "\\b" ? 8 : text === "\\f" ? 12 : text.charCodeAt(0);
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
