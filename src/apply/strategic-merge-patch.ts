/**
 * Strategic merge patch: a merge patch in which the schema says which lists are merged and by which key, with the
 * directives `$patch`, `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…`. Values are read-only; only
 * changed parts are copied. Hot path. Source: upstream's `util/strategicpatch`.
 */
import type { Schema } from "#schema/schema.ts";
import { isObject } from "#std/is-object.ts";
import { kindOf } from "#schema/mismatch.ts";
import { setKey } from "#schema/json-values.ts";
import { type DraftObject, isArray, type JsonObject, member } from "./json-value.ts";
import { withoutNulls } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";

const patchDirective = "$patch";
const retainKeysDirective = "$retainKeys";
const orderPrefix = "$setElementOrder";
const deletionPrefix = "$deleteFromPrimitiveList";

/**
 * Returns the object with the patch merged in by `schema`. `patch` is the decoded body. The result shares structure
 * with both arguments and may have fields unknown to the schema: decode it afterwards. Throws `PatchError`:
 * `bad-request` for a malformed body or directive, `internal` when the patch contradicts schema or object.
 */
export function applyStrategicMergePatch(original: JsonObject, patch: unknown, schema: Schema): JsonObject {
  if (patch === null) return original;
  if (!isObject(patch)) {
    throw new PatchError(
      "bad-request",
      `json: cannot unmarshal ${kindOf(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return mergeMap(original, patch, schema);
}

const contradiction = (message: string): PatchError => new PatchError("internal", message);

/** Merges two maps. `schema` describes both; it is used only for members that are maps or lists on both sides. */
function mergeMap(original: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  if (Object.hasOwn(patch, patchDirective)) return mergeByDirective(patch);
  let draft: DraftObject = { ...original };
  if (Object.hasOwn(patch, retainKeysDirective)) draft = retainKeys(draft, patch);
  let ordered: Set<string> | undefined;
  let hasDirectives = false;
  for (const name of Object.keys(patch)) {
    if (name.charCodeAt(0) !== 36 /* $ */) continue;
    hasDirectives = true;
    if (!name.startsWith(orderPrefix)) continue;
    const field = orderList(draft, patch, name, schema);
    if (field !== undefined) (ordered ??= new Set()).add(field);
  }
  if (hasDirectives) {
    for (const name of Object.keys(patch))
      if (name.startsWith(deletionPrefix)) deleteScalars(draft, patch, name, schema);
  }
  for (const name of Object.keys(patch)) {
    if (name.charCodeAt(0) === 36 && isDirective(name)) continue;
    if (ordered?.has(name) === true) continue;
    mergeMember(draft, name, patch[name], schema);
  }
  return draft;
}

const isDirective = (name: string): boolean =>
  name === retainKeysDirective || name.startsWith(orderPrefix) || name.startsWith(deletionPrefix);

function mergeByDirective(patch: JsonObject): JsonObject {
  const directive = patch[patchDirective];
  if (directive === "delete") return {};
  if (directive !== "replace") throw unknownPatchType(directive, patch);
  const { [patchDirective]: _, ...rest } = patch;
  return rest;
}

const unknownPatchType = (directive: unknown, map: JsonObject): PatchError =>
  contradiction(`unknown patch type: ${printAsText(directive)} in map: ${goValue(map)}`);

function mergeMember(draft: DraftObject, name: string, value: unknown, schema: Schema | undefined): void {
  if (value === null) {
    delete draft[name];
    return;
  }
  const old = member(draft, name);
  if (isObject(old) && isObject(value)) {
    const field = lookup(schema, name);
    setKey(draft, name, strategyOf(field) === "replace" ? value : mergeMap(old, value, field));
  } else if (isArray(old) && isArray(value)) {
    const field = lookupList(schema, name);
    setKey(draft, name, strategyOf(field) === "merge" ? mergeList(old, value, field) : value);
  } else {
    const plain = withoutPatchDirectives(withoutNulls(value));
    if (plain === undefined) delete draft[name];
    else setKey(draft, name, plain);
  }
}

/** Drops members that `$retainKeys` does not name. All members of the patch must be named. */
function retainKeys(draft: DraftObject, patch: JsonObject): DraftObject {
  const keys = patch[retainKeysDirective];
  const badFormat = (): PatchError => new PatchError("bad-request", "invalid patch format of retainKeys");
  if (!isArray(keys)) throw badFormat();
  const retained = new Set(keys);
  for (const name of Object.keys(patch)) {
    if (name === retainKeysDirective || patch[name] === null) continue;
    if (name.startsWith(deletionPrefix) || name.startsWith(orderPrefix)) continue;
    if (!retained.has(name)) throw badFormat();
  }
  const rest: DraftObject = {};
  for (const name of Object.keys(draft)) if (retained.has(name)) setKey(rest, name, draft[name]);
  return rest;
}

/**
 * Merges and orders the list that an order directive names. Returns the field's name when its patch has been applied,
 * `undefined` when there was nothing to order.
 */
function orderList(
  draft: DraftObject,
  patch: JsonObject,
  directive: string,
  schema: Schema | undefined,
): string | undefined {
  const order = patch[directive];
  if (!isArray(order)) throw notAList(order);
  if (!directive.startsWith(`${orderPrefix}/`)) {
    throw new PatchError("bad-request", "invalid patch format of setElementOrder list");
  }
  const name = directive.slice(orderPrefix.length + 1);
  const old = member(draft, name);
  const patchList = member(patch, name);
  if (old !== undefined && !isArray(old)) throw notAList(old);
  if (patchList !== undefined && !isArray(patchList)) throw notAList(patchList);
  const field = lookupList(schema, name);
  const mergeKey = field.patchMergeKey ?? "";
  if (patchList !== undefined) checkOrder(patchList, order, mergeKey);
  let list: readonly unknown[];
  if (patchList === undefined) {
    if (old === undefined) return undefined;
    list = old;
  } else if (old === undefined) {
    list = withoutPatchDirectives(patchList) as readonly unknown[]; // a list stays a list
  } else {
    list = strategyOf(field) === "merge" ? mergeList(old, patchList, field) : patchList;
  }
  const kind = elementKind(old ?? [], patchList ?? []);
  const objectOrder =
    patchList === undefined || old === undefined ? (old ?? []) : orderAfterDeletions(old, patchList, mergeKey);
  setKey(draft, name, arrange(list, order, objectOrder, mergeKey, kind === "map"));
  return name;
}

/**
 * Returns the order of the object's items for an order directive. Upstream: new items take the positions of deleted ones,
 * so a replaced item keeps its neighbours.
 */
function orderAfterDeletions(
  old: readonly unknown[],
  patchItems: readonly unknown[],
  mergeKey: string,
): readonly unknown[] {
  if (mergeKey === "") return old;
  const gone = new Set<unknown>();
  for (const item of patchItems) {
    if (isObject(item) && member(item, patchDirective) === "delete") gone.add(member(item, mergeKey));
  }
  if (gone.size === 0) return old;
  const rest = old.filter((item) => !gone.has(member(asMap(item), mergeKey)));
  const restKeys = new Set(rest.map((item) => member(asMap(item), mergeKey)));
  const added = patchItems.filter(
    (item) => isObject(item) && !Object.hasOwn(item, patchDirective) && !restKeys.has(member(item, mergeKey)),
  );
  return [...rest, ...added].slice(0, old.length);
}

/** Checks that items of the patch are in the order list, in the same sequence; deletions are excluded. */
function checkOrder(patchItems: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (patchItems.length === 0 || order.length === 0) return;
  const items = mergeKey === "" ? patchItems : patchItems.filter((item) => asMap(item)[patchDirective] !== "delete");
  let at = 0;
  let inOrder = 0;
  while (at < items.length && inOrder < order.length) {
    const item = items[at];
    if (isObject(item) && Object.hasOwn(item, patchDirective)) {
      at++;
      continue;
    }
    if (identityOf(item, mergeKey) === identityOf(order[inOrder], mergeKey)) at++;
    inOrder++;
  }
  if (at < items.length) {
    throw contradiction(
      `The order in patch list:\n${goValue(patchItems)}\n doesn't match ${orderPrefix} list:\n${goValue(order)}\n`,
    );
  }
}

function deleteScalars(draft: DraftObject, patch: JsonObject, directive: string, schema: Schema | undefined): void {
  if (!directive.startsWith(`${deletionPrefix}/`)) {
    throw new PatchError("bad-request", "invalid patch format of primitive list");
  }
  const name = directive.slice(deletionPrefix.length + 1);
  const gone = patch[directive];
  const old = member(draft, name);
  if (gone === null) delete draft[name];
  else if (isArray(old) && isArray(gone)) {
    const field = lookupList(schema, name);
    if (old.length === 0 && gone.length === 0) return;
    if (elementKind(old, gone) === "map") {
      setKey(draft, name, mergeList(old, gone, field));
    } else {
      const values = new Set(gone);
      setKey(
        draft,
        name,
        old.filter((item) => !values.has(item)),
      );
    }
  }
}

function mergeList(old: readonly unknown[], patch: readonly unknown[], field: Schema): readonly unknown[] {
  if (old.length === 0 && patch.length === 0) return old;
  const mergeKey = field.patchMergeKey ?? "";
  if (elementKind(old, patch) !== "map") return arrange([...new Set([...old, ...patch])], patch, old, mergeKey, false);
  if (mergeKey === "") {
    const type = field.items?.type === "object" ? "struct" : (field.items?.type ?? "");
    throw contradiction(`cannot merge lists without merge key for ${type}`);
  }
  const patchItems: JsonObject[] = [];
  let replaces = false;
  const gone = new Set<unknown>();
  for (const item of patch as readonly JsonObject[]) {
    // elementKind saw maps only
    if (!Object.hasOwn(item, patchDirective)) {
      patchItems.push(item);
      continue;
    }
    const directive = item[patchDirective];
    if (directive === "replace") replaces = true;
    else if (directive === "merge") throw contradiction("merging lists cannot yet be specified in the patch");
    else if (directive !== "delete") throw unknownPatchType(directive, item);
    else gone.add(keyOf(item, mergeKey));
  }
  if (replaces) return patchItems;
  const rest = gone.size === 0 ? old : old.filter((one) => !gone.has(member(asMap(one), mergeKey)));
  return arrange(mergeItems(rest, patchItems, mergeKey, field.items), patchItems, rest, mergeKey, true);
}

function mergeItems(
  old: readonly unknown[],
  patch: readonly JsonObject[],
  mergeKey: string,
  schema: Schema | undefined,
): readonly unknown[] {
  const list = old.slice();
  const indexes = new Map<unknown, number>();
  for (let i = list.length - 1; i >= 0; i--) indexes.set(member(asMap(list[i]), mergeKey), i);
  for (const item of patch) {
    const key = keyOf(item, mergeKey);
    const index = indexes.get(key);
    if (index === undefined) {
      indexes.set(key, list.length);
      list.push(item);
    } else {
      list[index] = mergeMap(asMap(list[index]), item, schema);
    }
  }
  return list;
}

/**
 * Orders a merged list: items of the patch as the patch has them, the others as the object had them, and the two
 * woven together by the object's order. An item of the object stands before the first of the patch that followed it.
 *
 *     object a b c d, patch c x   ->   a b c x d
 *     object a b,     patch x     ->   x a b
 */
function arrange(
  list: readonly unknown[],
  patchOrder: readonly unknown[],
  objectOrder: readonly unknown[],
  mergeKey: string,
  isMaps: boolean,
): readonly unknown[] {
  if (list.length === 0) {
    // Each item of an order must have its key, even if there is nothing to order.
    if (isMaps) positions(patchOrder, mergeKey);
    return list;
  }
  if (mergeKey === "" && isMaps) throw new PatchError("invalid", "a list of objects has no merge key to order by");
  if (mergeKey !== "" && !isMaps) throw notAMap(list.find((item) => !isObject(item)));
  const inPatch = positions(patchOrder, mergeKey);
  const inObject = positions(objectOrder, mergeKey);
  const ours: RankedItem[] = [];
  const theirs: RankedItem[] = [];
  for (const item of list) {
    const identity = identityOf(item, mergeKey);
    const patchIndex = inPatch.get(identity);
    const objectIndex = inObject.get(identity) ?? -1;
    if (patchIndex !== undefined) ours.push({ item, rank: patchIndex, objectIndex });
    else theirs.push({ item, rank: objectIndex, objectIndex });
  }
  sortByRank(ours);
  sortByRank(theirs);
  const out: unknown[] = [];
  let i = 0;
  for (const { item, objectIndex } of ours) {
    while (i < theirs.length && theirs[i]!.objectIndex >= 0 && theirs[i]!.objectIndex < objectIndex) {
      out.push(theirs[i++]!.item);
    }
    out.push(item);
  }
  while (i < theirs.length) out.push(theirs[i++]!.item);
  return out;
}

interface RankedItem {
  readonly item: unknown;
  /** The index in the order of the item's group; -1 for none. */
  readonly rank: number;
  readonly objectIndex: number;
}

/**
 * Sorts a group by rank. Items without a rank (only an empty order list makes them) move before their neighbour
 * each time they are compared, as in upstream's comparison.
 */
function sortByRank(items: RankedItem[]): void {
  if (items.every((one) => one.rank >= 0)) {
    items.sort((a, b) => a.rank - b.rank);
    return;
  }
  if (items.length > 20) return;
  for (let i = 1; i < items.length; i++) {
    for (let j = i; j > 0; j--) {
      const [before, item] = [items[j - 1]!, items[j]!];
      if (before.rank >= 0 && item.rank >= 0 && item.rank >= before.rank) break;
      [items[j - 1], items[j]] = [item, before];
    }
  }
}

function positions(list: readonly unknown[], mergeKey: string): Map<unknown, number> {
  const indexes = new Map<unknown, number>();
  for (let i = 0; i < list.length; i++) {
    const identity = identityOf(list[i], mergeKey);
    if (!indexes.has(identity)) indexes.set(identity, i);
  }
  return indexes;
}

/** Returns the identity of a list item: the value of its merge key, or the item itself. */
const identityOf = (item: unknown, mergeKey: string): unknown =>
  mergeKey === "" ? item : keyOf(asMap(item), mergeKey);

function keyOf(map: JsonObject, mergeKey: string): unknown {
  if (!Object.hasOwn(map, mergeKey))
    throw contradiction(`map: ${goValue(map)} does not contain declared merge key: ${mergeKey}`);
  const key = map[mergeKey];
  if (typeof key === "object" && key !== null) throw new PatchError("invalid", `merge key ${mergeKey} is no scalar`);
  return key;
}

function asMap(item: unknown): JsonObject {
  if (!isObject(item)) throw notAMap(item);
  return item;
}

/** Returns the kind of all items of both lists, which must be the same, and no list. */
function elementKind(old: readonly unknown[], patch: readonly unknown[]): string {
  let kind: string | undefined;
  for (const list of [old, patch]) {
    for (const item of list) {
      const one = goKind(item);
      if (kind === undefined && one === "slice") throw new PatchError("invalid", "lists of lists are not supported");
      kind ??= one;
      if (one !== kind)
        throw contradiction(`list element types are not identical: [${goValue(old)} ${goValue(patch)}]`);
    }
  }
  if (kind === undefined) throw contradiction("no elements in any of the given slices");
  return kind;
}

/**
 * Returns a new value without patch directives: maps with `$patch` are dropped. `undefined` when it is such a map
 * itself.
 */
function withoutPatchDirectives(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) {
    let items: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = withoutPatchDirectives(value[i]);
      if (item !== value[i]) items ??= value.slice(0, i);
      if (item !== undefined) items?.push(item);
    }
    return items ?? value;
  }
  const map = value as JsonObject; // an object that is no array
  if (Object.hasOwn(map, patchDirective)) return undefined;
  let draft: DraftObject | undefined;
  for (const name of Object.keys(map)) {
    const old = map[name];
    const next = withoutPatchDirectives(old);
    if (next === old) continue;
    draft ??= { ...map };
    if (next === undefined) delete draft[name];
    else setKey(draft, name, next);
  }
  return draft ?? map;
}

/** Returns the merge strategy; `retainKeys` does not affect merging. */
function strategyOf(field: Schema | undefined): "merge" | "replace" | undefined {
  for (const strategy of field?.patchStrategy ?? []) if (strategy !== "retainKeys") return strategy;
  return undefined;
}

function lookup(schema: Schema | undefined, name: string): Schema {
  if (schema === undefined || schema.type === "map") {
    throw contradiction("merging an object in json but data type is not struct, instead is: map");
  }
  const field = schema.fields?.get(name);
  if (field !== undefined) return field.schema;
  const type = schema.name?.slice(schema.name.lastIndexOf(".") + 1) ?? specialNames[schema.special ?? ""] ?? "";
  throw contradiction(`unable to find api field in struct ${type} for the json field ${JSON.stringify(name)}`);
}

const specialNames: Readonly<Record<string, string>> = {
  rawExtension: "RawExtension",
  json: "JSON",
  fieldsV1: "FieldsV1",
};

function lookupList(schema: Schema | undefined, name: string): Schema {
  const field = lookup(schema, name);
  if (field.type !== "array") throw contradiction("expected slice or array type, but got: struct");
  return field;
}

const notAList = (value: unknown): PatchError =>
  contradiction(`expected a []interface {}, but received a ${goType(value)}`);

const notAMap = (value: unknown): PatchError =>
  contradiction(`expected a map[string]interface {}, but received a ${goType(value)}`);

function goKind(value: unknown): string {
  if (isArray(value)) return "slice";
  if (isObject(value)) return "map";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "int64" : value === null ? "nil" : "string";
}

function goType(value: unknown): string {
  const kind = goKind(value);
  if (kind === "nil") return "%!s(<nil>)";
  return kind === "slice" ? "[]interface {}" : kind === "map" ? "map[string]interface {}" : kind;
}

/** Prints a value as Go does with `%v`; long ones are cut, since the client gets the text. */
function goValue(value: unknown): string {
  const text = printGo(value, 0);
  return text.length > 2000 ? `${text.slice(0, 2000)}...` : text;
}

function printGo(value: unknown, depth: number): string {
  if (value === null || value === undefined) return "<nil>";
  if (depth > 20) return "...";
  if (isArray(value))
    return `[${value
      .slice(0, 200)
      .map((item) => printGo(item, depth + 1))
      .join(" ")}]`;
  if (!isObject(value)) return String(value as string | number | boolean | bigint); // all that is left
  const names = Object.keys(value).sort().slice(0, 200);
  return `map[${names.map((name) => `${name}:${printGo(value[name], depth + 1)}`).join(" ")}]`;
}

/** Prints a value as Go does with `%s`. */
function printAsText(value: unknown): string {
  const kind = goKind(value);
  if (kind === "string") return String(value);
  return kind === "nil"
    ? "%!s(<nil>)"
    : isArray(value) || isObject(value)
      ? goValue(value)
      : `%!s(${kind}=${String(value)})`;
}
