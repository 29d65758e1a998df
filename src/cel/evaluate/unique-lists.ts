/**
 * Implements lists of type `set` and `map`: `==` ignores the order, and `+` adds only new elements, or replaces
 * elements that have the same keys. The left operand decides the type, as in cel-go.
 *
 *      set [1, 2] == [2, 1]                          set [1, 2] + [2, 3] is [1, 2, 3]
 *      by k: [{k: a, v: 1}] + [{k: a, v: 2}, {k: b}] is [{k: a, v: 2}, {k: b}]
 */
import { isRawNumber } from "#std/raw-number.ts";
import type { EvaluationContext } from "../functions.ts";
import { Double, type Value } from "../values.ts";

const mark = Symbol("uniqueness");

interface Uniqueness {
  /** The names of the keys; empty for a set, in which the whole element identifies itself. */
  readonly by: readonly string[];
  /**
   * The elements as JSON. Sets are searched by these values, so that a double or timestamp read from JSON is not found.
   */
  readonly source: readonly Value[];
  index: ReadonlyMap<string, number> | undefined;
}

type Marked = readonly Value[] & { readonly [mark]?: Uniqueness };

/** Returns a list of unique elements; `source` has the same elements as JSON. */
export function uniqueList(elements: Value[], source: readonly Value[], by: readonly string[]): readonly Value[] {
  const uniqueness: Uniqueness = { by, source, index: undefined };
  return Object.assign(elements, { [mark]: uniqueness });
}

const uniquenessOf = (list: readonly Value[]): Uniqueness | undefined => (list as Marked)[mark];

/** Whether a list has type `set` or `map`. */
export const isUnique = (list: readonly Value[]): boolean => uniquenessOf(list) !== undefined;

/** The work of computing the identity of one element. */
const identityWork = 60;

/**
 * Returns a text that is equal for elements with the same identity; `undefined` for a value without identity, which is
 * never found.
 */
function identity(value: Value, by: readonly string[]): string | undefined {
  if (by.length === 0) return scalarIdentity(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || isRawNumber(value)) return undefined;
  const object = value as { readonly [key: string]: Value }; // the other forms have prototypes of their own
  return by.map((key) => JSON.stringify(Object.hasOwn(object, key) ? scalarIdentity(object[key]!) : null)).join();
}

function scalarIdentity(value: Value): string | undefined {
  switch (typeof value) {
    case "string":
      return `s${value}`;
    case "boolean":
      return `b${value}`;
    case "number":
      return Number.isSafeInteger(value) ? `i${value}` : `d${value}`;
    case "bigint":
      return `i${value}`;
    default:
      if (value instanceof Double) return `d${value.value}`;
      if (!isRawNumber(value)) return value === null ? "n" : undefined;
      return /^-?\d+$/.test(value.rawJSON) ? `i${BigInt(value.rawJSON)}` : `d${Number(value.rawJSON)}`;
  }
}

function indexOf(uniqueness: Uniqueness, context: EvaluationContext): ReadonlyMap<string, number> {
  if (uniqueness.index !== undefined) return uniqueness.index;
  const { by, source } = uniqueness;
  context.work(identityWork * source.length);
  const index = new Map<string, number>();
  source.forEach((value, at) => {
    const key = identity(value, by);
    context.work((key?.length ?? 0) >> 3);
    if (key !== undefined) index.set(key, at);
  });
  uniqueness.index = index;
  return index;
}

/**
 * Whether `other` has as many elements as `list`, and each of them is in `list`. Elements with the same keys must also
 * be equal.
 */
export function equalUnique(
  list: readonly Value[],
  other: readonly Value[],
  equal: (a: Value, b: Value) => boolean,
  context: EvaluationContext,
): boolean {
  const uniqueness = uniquenessOf(list);
  if (uniqueness === undefined || list.length !== other.length) return false;
  const index = indexOf(uniqueness, context);
  context.work(identityWork * other.length);
  return other.every((value) => {
    const key = identity(value, uniqueness.by);
    context.work((key?.length ?? 0) >> 3);
    const at = key === undefined ? undefined : index.get(key);
    return at !== undefined && (uniqueness.by.length === 0 || equal(list[at]!, value));
  });
}

/**
 * Returns `list` with the new elements of `other`. An element of `other` replaces an element of `list` with the same
 * keys.
 */
export function mergeUnique(
  list: readonly Value[],
  other: readonly Value[],
  context: EvaluationContext,
): readonly Value[] {
  const { by, source } = uniquenessOf(list)!; // callers have checked `isUnique`
  context.work(identityWork * (list.length + other.length));
  const index = new Map(indexOf(uniquenessOf(list)!, context));
  const elements = [...list];
  const mergedSource = [...source];
  for (const value of other) {
    const key = identity(value, by);
    context.work((key?.length ?? 0) >> 3);
    const positions = key === undefined ? undefined : index.get(key);
    if (positions !== undefined && by.length === 0) continue;
    const at = positions ?? elements.length;
    if (key !== undefined) index.set(key, at);
    elements[at] = value;
    mergedSource[at] = value;
  }
  return uniqueList(elements, mergedSource, by);
}
