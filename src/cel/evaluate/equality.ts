/** Compares values: equality and order. Numbers of different types compare by their value. */
import { compareCodePoints } from "#std/code-points.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError, Double, Duration, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from "../values.ts";
import { isList, isMap, type MapValue, mapSize } from "./kinds.ts";
import { everyEntry, mapGet } from "./maps.ts";
import { read } from "./read.ts";
import { compareBytes } from "./text.ts";
import { equalUnique, isUnique } from "./unique-lists.ts";

type Number = number | bigint | Uint | Double;

const isNumber = (value: Value): value is Number =>
  typeof value === "number" || typeof value === "bigint" || value instanceof Double || value instanceof Uint;

/**
 * Compares two numbers: returns a negative number, 0 or a positive number; NaN if one of them is NaN. If one is a
 * double, the other one is converted to a double.
 */
function compareNumbers(a: Number, b: Number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a instanceof Double || b instanceof Double) {
    const left = a instanceof Double ? a.value : Number(a instanceof Uint ? a.value : a);
    const right = b instanceof Double ? b.value : Number(b instanceof Uint ? b.value : b);
    if (Number.isNaN(left) || Number.isNaN(right)) return Number.NaN;
    return left < right ? -1 : left > right ? 1 : 0;
  }
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether two values are equal. Values of different kinds are not. */
export function equals(a: Value, b: Value, context: EvaluationContext): boolean {
  if (typeof a === "string") return typeof b === "string" && equalTexts(a, b, context);
  if (typeof a === "boolean" || a === null) return a === b;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (typeof b !== "object" || b === null) return false;
  if (isList(a)) return isList(b) && equalLists(a, b, context);
  if (isMap(a)) return isMap(b) && equalMaps(a, b, context);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b, context);
  return a instanceof Opaque && a.equals(b) === true;
}

/**
 * Whether `==` has an error instead of an answer: the left value is of a library type, which cannot be compared with
 * the right value.
 */
export function isIncomparable(a: Value, b: Value): boolean {
  if (b === null) return false;
  if (a instanceof Opaque) return a.equals(b) === undefined;
  if (!(a instanceof Optional && b instanceof Optional) || a.value === undefined || b.value === undefined) return false;
  return isIncomparable(a.value, b.value);
}

/** Whether two parts of lists or maps differ. Upstream: parts that cannot be compared do not differ. */
const differ = (a: Value, b: Value, context: EvaluationContext): boolean =>
  !equals(a, b, context) && !isIncomparable(a, b);

/** The number of characters that a comparison of texts compares in one step. */
const textStep = 64;

function equalTexts(a: string, b: string, context: EvaluationContext): boolean {
  if (a.length !== b.length) return false;
  if (a.length > textStep) context.work(a.length / textStep);
  return a === b;
}

/**
 * The work of comparing two lists. `elementWork` is that of comparing two elements, `entryWork` that of two entries of
 * maps.
 */
const listWork = 12;
const elementWork = 2;
const entryWork = 25;

function equalOptionals(a: Optional, b: Optional, context: EvaluationContext): boolean {
  context.work(listWork);
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equals(a.value, b.value, context);
}

function equalLists(a: readonly Value[], b: readonly Value[], context: EvaluationContext): boolean {
  if (a.length !== b.length) return false;
  if (isUnique(a)) return equalUnique(a, b, (one, other) => equals(read(one), read(other), context), context);
  context.work(listWork + elementWork * a.length);
  for (let at = 0; at < a.length; at++) if (differ(read(a[at]!), read(b[at]!), context)) return false;
  return true;
}

function equalMaps(a: MapValue, b: MapValue, context: EvaluationContext): boolean {
  const size = mapSize(a);
  context.work(entryWork * (size + 1));
  if (size !== mapSize(b)) return false;
  return everyEntry(a, (key, value) => {
    const other = mapGet(b, key, context);
    return other !== undefined && !differ(value, other, context);
  });
}

const unordered = (): CelError => new CelError("NaN values cannot be ordered");

/**
 * Compares two values: returns a negative number, 0 or a positive number; an error for NaN; `undefined` for values
 * without an order or of different kinds.
 */
export function compare(a: Value, b: Value): number | CelError | undefined {
  if (typeof a === "string") return typeof b === "string" ? compareCodePoints(a, b) : undefined;
  if (isNumber(a)) {
    // Upstream: such a value on the left is found before the type of the other one.
    if (a instanceof Double && Number.isNaN(a.value)) return unordered();
    if (!isNumber(b)) return undefined;
    const order = compareNumbers(a, b);
    return Number.isNaN(order) ? unordered() : order;
  }
  if (typeof a === "boolean") return typeof b === "boolean" ? Number(a) - Number(b) : undefined;
  if (a instanceof Timestamp) return b instanceof Timestamp ? compareNumbers(a.nanoseconds, b.nanoseconds) : undefined;
  if (a instanceof Duration) return b instanceof Duration ? compareNumbers(a.nanoseconds, b.nanoseconds) : undefined;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : undefined;
  return undefined;
}
