/** Reads fields and elements of values: `a.b`, `a[b]`, `has(a.b)`, `a.?b`. */
import type { EvaluationContext } from "../functions.ts";
import { CelError, Double, Optional, Uint, type Value } from "../values.ts";
import { implementationOf, isList, isMap, kindOf, type MapValue } from "./kinds.ts";
import { mapGet } from "./maps.ts";
import { doubleText } from "./numbers.ts";
import { read } from "./read.ts";

const canBeKey = (key: Value): boolean => typeof key !== "object" || key instanceof Uint || key instanceof Double;

/** Returns the value of a key: `undefined` if it is absent, an error if the operand cannot have such keys. */
function find(operand: Value, key: Value, context: EvaluationContext): Value | CelError | undefined {
  if (isList(operand)) return findElement(operand, key);
  if (!canBeKey(key)) return new CelError(`invalid qualifier type: ${implementationOf(key)}`);
  return isMap(operand) ? mapGet(operand, key, context) : undefined;
}

/**
 * Returns the value of a key, or an error if it is absent. The operand may be optional; the result is then optional
 * too.
 */
export function get(operand: Value, key: Value, context: EvaluationContext): Value | CelError {
  if (operand instanceof Optional) return getOptional(operand, key, context);
  const value = find(operand, key, context);
  if (value !== undefined) return value;
  return new CelError(isList(operand) ? `index out of bounds: ${keyText(key)}` : `no such key: ${keyText(key)}`);
}

/** Returns the value of a key as an optional value; `optional.none()` if it is absent. */
export function getOptional(operand: Value, key: Value, context: EvaluationContext): Value | CelError {
  const inner = operand instanceof Optional ? operand.value : operand;
  if (inner === undefined) return operand;
  const value = find(inner, key, context);
  return value instanceof CelError ? value : new Optional(value);
}

/** Returns the value of `has(operand.field)`. */
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

/** Returns the text of a key of a map. */
export function keyText(key: Value): string {
  if (key instanceof Double) return doubleText(key.value);
  if (key instanceof Uint) return String(key.value);
  return typeof key === "object" ? kindOf(key) : String(key);
}

/** Returns the elements of a list or the keys of a map, over which a loop iterates; `undefined` for other values. */
export const rangeOf = (value: Value): readonly Value[] | MapValue | undefined =>
  isList(value) || isMap(value) ? value : undefined;
