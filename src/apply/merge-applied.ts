/**
 * Merges an applied configuration into an object: objects by member, sets and keyed lists by item; atomic parts and
 * scalars come from the configuration. Nothing is removed here. Hot path: unchanged parts are returned as the same
 * object, so a comparison costs only what changed. Source: structured-merge-diff's `typed` package.
 */
import type { Schema } from "#schema/schema.ts";
import { setKey } from "#schema/json-values.ts";
import { type DraftObject, type JsonObject, jsonEquals, member } from "./json-value.ts";
import {
  type Elements,
  elementsOf,
  hasRepeats,
  isBare,
  type ListRule,
  listRuleOf,
  memberSchema,
  rememberElements,
  sameElements,
  shapeOf,
} from "./topology.ts";

/** Merges two values. `undefined` is an absent value; `applied` must have passed `checkApplied`. */
export function mergeApplied(schema: Schema | undefined, live: unknown, applied: unknown): unknown {
  if (applied === undefined || live === applied) return live;
  if (live === undefined || live === null) return applied;
  const before = shapeOf(schema, live);
  const after = shapeOf(schema, applied);
  if (after === "null") {
    // Null replaces a value that has no parts, or that is empty.
    const hasParts = before === "map" ? !isBare(live as JsonObject) : before === "list" && (live as []).length > 0;
    return hasParts ? live : null;
  }
  if (before === "map" && after === "map") {
    return mergeMembers(schema, live as JsonObject, applied as JsonObject); // the shapes say so
  }
  if (before === "list" && after === "list") {
    return mergeItems(schema!, live as readonly unknown[], applied as readonly unknown[]); // a list has a schema
  }
  return jsonEquals(live, applied) ? live : applied;
}

function mergeMembers(schema: Schema | undefined, live: JsonObject, applied: JsonObject): JsonObject {
  let result: DraftObject | undefined;
  for (const name of Object.keys(applied)) {
    const before = member(live, name);
    const after = mergeApplied(memberSchema(schema, name), before, applied[name]);
    if (after === before) continue;
    result ??= { ...live };
    setKey(result, name, after);
  }
  return result ?? live;
}

/** Indexes items by element; duplicates are excluded, since they cannot be merged. */
function index(rule: ListRule, list: readonly unknown[]): { elements: Elements; items: Map<string, unknown> } {
  const elements = elementsOf(rule, list);
  const items = new Map<string, unknown>();
  const areDifferent = !hasRepeats(elements);
  for (let i = 0; i < list.length; i++) {
    const element = elements[i];
    if (element === undefined) continue;
    items.set(element, areDifferent || !items.has(element) ? list[i] : undefined);
  }
  return { elements, items };
}

/** Does the same as `mergeItems` for lists with the same unique items in the same order. */
function mergeAligned(schema: Schema, live: readonly unknown[], applied: readonly unknown[]): readonly unknown[] {
  let result: unknown[] | undefined;
  for (let i = 0; i < live.length; i++) {
    const item = mergeApplied(schema.items, live[i], applied[i]);
    if (item !== live[i]) (result ??= live.slice())[i] = item;
  }
  return result ?? live;
}

/**
 * Items of both. Those of the configuration come in its order; those only the present list has stay behind the shared
 * item they followed.
 *
 *     live    a b c d     applied  c x a     merged  b c x a d ... as far as the order of the shared items allows
 */
function mergeItems(schema: Schema, live: readonly unknown[], applied: readonly unknown[]): readonly unknown[] {
  const rule = listRuleOf(schema)!; // the shape says that it has one
  const elements = elementsOf(rule, live);
  if (sameElements(elements, elementsOf(rule, applied)) && !hasRepeats(elements)) {
    const result = mergeAligned(schema, live, applied);
    if (result !== live) rememberElements(rule, result, elements);
    return result;
  }
  const old = index(rule, live);
  const own = index(rule, applied);
  const shared = own.elements.filter((element) => element !== undefined && old.items.has(element));
  const result: unknown[] = [];
  const mergedElements: (string | undefined)[] = [];
  const takenElements = new Set<string | undefined>();
  let nextShared = 0;
  const take = (at: number): void => {
    const element = own.elements[at];
    takenElements.add(element);
    mergedElements.push(element);
    const before = element === undefined ? undefined : old.items.get(element);
    result.push(mergeApplied(schema.items, before, applied[at]));
    if (nextShared < shared.length && shared[nextShared] === element) nextShared++;
  };
  let i = 0;
  let j = 0;
  while (i < live.length || j < applied.length) {
    if (i < live.length) {
      const element = old.elements[i];
      const isShared = element !== undefined && own.items.has(element);
      if (j < applied.length) {
        if (isShared && element === own.elements[j]) {
          take(j++);
          i++;
          continue;
        }
        if (isShared && nextShared < shared.length && shared[nextShared] !== element) {
          i++;
          continue;
        }
      }
      if (!isShared) {
        mergedElements.push(element);
        result.push(live[i++]);
        continue;
      }
      if (takenElements.has(element)) i++;
    }
    if (j < applied.length) take(j++);
  }
  const isSame = result.length === live.length && result.every((item, at) => item === live[at]);
  if (isSame) return live;
  // The order of the old elements may be cached.
  rememberElements(rule, result, sameElements(elements, mergedElements) ? elements : mergedElements);
  return result;
}
