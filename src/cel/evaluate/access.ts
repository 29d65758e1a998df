/** Fields and elements of values: `a.b`, `a[b]`, `has(a.b)`, `a.?b`. */
import type { EvaluationContext } from "../functions.ts";
import { CelError, Double, Optional, Uint, type Value } from "../values.ts";
import { implementationOf, isList, isMap, kindOf, type MapValue } from "./kinds.ts";
import { mapGet } from "./maps.ts";
import { doubleText } from "./numbers.ts";
import { read } from "./read.ts";

const canBeKey = (key: Value): boolean => typeof key !== "object" || key instanceof Uint || key instanceof Double;

/** The value under a key; `undefined` when it is not there; an error where lists do not have such indices. */
function find(operand: Value, key: Value, context: EvaluationContext): Value | CelError | undefined {
  if (isList(operand)) return findElement(operand, key);
  if (!canBeKey(key)) return new CelError(`invalid qualifier type: ${implementationOf(key)}`);
  return isMap(operand) ? mapGet(operand, key, context) : undefined;
}

/** The value under a key. Keys of an optional value give optional values. */
export function get(operand: Value, key: Value, context: EvaluationContext): Value | CelError {
  if (operand instanceof Optional) return getOptional(operand, key, context);
  const value = find(operand, key, context);
  if (value !== undefined) return value;
  return new CelError(isList(operand) ? `index out of bounds: ${keyText(key)}` : `no such key: ${keyText(key)}`);
}

/** `optional.none()` where there is none. */
export function getOptional(operand: Value, key: Value, context: EvaluationContext): Value | CelError {
  const inner = operand instanceof Optional ? operand.value : operand;
  if (inner === undefined) return operand;
  const value = find(inner, key, context);
  return value instanceof CelError ? value : new Optional(value);
}

/** `has(operand.field)`. */
export function hasField(operand: Value, field: string, context: EvaluationContext): Value | CelError {
  const inner = operand instanceof Optional ? operand.value : operand;
  const value = inner === undefined ? undefined : find(inner, field, context);
  return value instanceof CelError ? value : value !== undefined;
}

function findElement(list: readonly Value[], key: Value): Value | CelError | undefined {
  let index: number;
  if (typeof key === "number") index = key;
  else if (typeof key === "bigint") return undefined;
  else if (key instanceof Double) {
    if (!Number.isInteger(key.value)) return new CelError(`unsupported index value ${doubleText(key.value)} in list`);
    index = key.value;
  } else if (key instanceof Uint) index = Number(key.value);
  else return new CelError(`unsupported index type '${kindOf(key)}' in list`);
  const value = list[index];
  return value === undefined ? undefined : read(value);
}

/** Prints a key that maps can have. */
export function keyText(key: Value): string {
  if (key instanceof Double) return doubleText(key.value);
  if (key instanceof Uint) return String(key.value);
  return typeof key === "object" ? kindOf(key) : String(key);
}

/** The elements of a list, or the keys of a map, that a loop walks; `undefined` for other values. */
export const rangeOf = (value: Value): readonly Value[] | MapValue | undefined =>
  isList(value) || isMap(value) ? value : undefined;
