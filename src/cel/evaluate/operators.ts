/** Implements the operators. They return `undefined` if the operator does not exist for the operands. */
import { operators } from "../ast.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError, Double, Duration, Timestamp, Uint, type Value } from "../values.ts";
import { compare, equals, isIncomparable } from "./equality.ts";
import { isInt, isList, isMap, kindOf } from "./kinds.ts";
import { mapGet } from "./maps.ts";
import {
  addInts,
  divideInts,
  type Int,
  moduloInts,
  multiplyInts,
  negateInt,
  subtractInts,
  uintArithmetic,
} from "./numbers.ts";
import { read } from "./read.ts";
import { countText } from "./text.ts";
import { durationOf, timeBetween, timestampOf } from "./time.ts";
import { isUnique, mergeUnique } from "./unique-lists.ts";

/** An operator on two values. It returns `undefined` if it does not exist for them. */
export type Binary = (a: Value, b: Value, context: EvaluationContext) => Value | CelError | undefined;

function add(a: Value, b: Value, context: EvaluationContext): Value | CelError | undefined {
  if (isInt(a)) return isInt(b) ? addInts(a, b) : undefined;
  if (typeof a === "string") return typeof b === "string" ? concatenate(a, b, context) : undefined;
  if (isList(a)) {
    if (!isList(b)) return undefined;
    if (isUnique(a)) return mergeUnique(a, b, context);
    context.work(2 * (a.length + b.length));
    return a.concat(b);
  }
  if (a instanceof Double) return b instanceof Double ? new Double(a.value + b.value) : undefined;
  if (a instanceof Uint) return b instanceof Uint ? uintArithmetic.add(a, b) : undefined;
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array)) return undefined;
    countText(a.length + b.length, context);
    return Buffer.concat([a, b]);
  }
  if (a instanceof Timestamp) return b instanceof Duration ? later(a, b.nanoseconds) : undefined;
  if (!(a instanceof Duration)) return undefined;
  if (b instanceof Timestamp) return later(b, a.nanoseconds);
  return b instanceof Duration ? durationOf(a.nanoseconds + b.nanoseconds) : undefined;
}

/** The maximum length of a concatenation that counts no work, only cost. */
const countedLength = 256;

function concatenate(a: string, b: string, context: EvaluationContext): string {
  const length = a.length + b.length;
  if (length > countedLength) countText(length, context);
  return a + b;
}

const later = (time: Timestamp, nanoseconds: bigint): Timestamp | CelError =>
  timestampOf(time.nanoseconds + nanoseconds, time.offsetSeconds);

function subtract(a: Value, b: Value): Value | CelError | undefined {
  if (isInt(a)) return isInt(b) ? subtractInts(a, b) : undefined;
  if (a instanceof Double) return b instanceof Double ? new Double(a.value - b.value) : undefined;
  if (a instanceof Uint) return b instanceof Uint ? uintArithmetic.subtract(a, b) : undefined;
  if (a instanceof Duration) return b instanceof Duration ? durationOf(a.nanoseconds - b.nanoseconds) : undefined;
  if (!(a instanceof Timestamp)) return undefined;
  if (b instanceof Timestamp) return timeBetween(a, b);
  return b instanceof Duration ? later(a, -b.nanoseconds) : undefined;
}

type Arithmetic = "multiply" | "divide" | "modulo";

/** Returns an operator of ints, of uints and, if `doubles` is given, of doubles. */
const arithmetic =
  (ints: (a: Int, b: Int) => Int | CelError, uints: Arithmetic, doubles?: (a: number, b: number) => number): Binary =>
  (a, b) => {
    if (isInt(a)) return isInt(b) ? ints(a, b) : undefined;
    if (a instanceof Uint) return b instanceof Uint ? uintArithmetic[uints](a, b) : undefined;
    if (doubles === undefined || !(a instanceof Double)) return undefined;
    return b instanceof Double ? new Double(doubles(a.value, b.value)) : undefined;
  };

const ordering =
  (holds: (order: number) => boolean): Binary =>
  (a, b) => {
    const order = compare(a, b);
    return order === undefined || order instanceof CelError ? order : holds(order);
  };

/** Returns whether a list has an element, or a map a key; `undefined` if `container` is neither. */
function isIn(element: Value, container: Value, context: EvaluationContext): Value | CelError | undefined {
  if (isMap(container)) return mapGet(container, element, context) !== undefined;
  if (!isList(container)) return undefined;
  context.work(2 * container.length);
  for (const one of container) if (equals(element, read(one), context)) return true;
  return false;
}

/** The binary operators by function name, except logic and index. */
export const binaryOperators: ReadonlyMap<string, Binary> = new Map<string, Binary>([
  [operators.add, add],
  [operators.subtract, subtract],
  [operators.multiply, arithmetic(multiplyInts, "multiply", (a, b) => a * b)],
  [operators.divide, arithmetic(divideInts, "divide", (a, b) => a / b)],
  [operators.modulo, arithmetic(moduloInts, "modulo")],
  [
    operators.equals,
    (a, b, context) => equals(a, b, context) || (isIncomparable(a, b) ? new CelError("no such overload") : false),
  ],
  [operators.notEquals, (a, b, context) => !equals(a, b, context)],
  [operators.less, ordering((order) => order < 0)],
  [operators.lessEquals, ordering((order) => order <= 0)],
  [operators.greater, ordering((order) => order > 0)],
  [operators.greaterEquals, ordering((order) => order >= 0)],
  [operators.in, isIn],
]);

/** Implements `-x`; returns `undefined` for a value that is neither an int nor a double. */
export function negate(value: Value): Value | CelError | undefined {
  if (isInt(value)) return negateInt(value);
  return value instanceof Double ? new Double(-value.value) : undefined;
}

/**
 * The types for which every missing operator has the short error. The sets below are the types with operators of one
 * group.
 */
const answering: ReadonlySet<string> = new Set(["string", "google.protobuf.Timestamp", "google.protobuf.Duration"]);
const added: ReadonlySet<string> = new Set(["int", "uint", "double", "bytes", "list"]);
const ordered: ReadonlySet<string> = new Set(["int", "uint", "double", "bytes", "bool"]);
const negated: ReadonlySet<string> = new Set(["int", "double", "bool"]);
const counted: ReadonlySet<string> = new Set(["int", "uint", "double"]);
const orderings: ReadonlySet<string> = new Set([
  operators.less,
  operators.lessEquals,
  operators.greater,
  operators.greaterEquals,
]);

const isNegation = (name: string): boolean => name === operators.not || name === operators.negate;

/**
 * Returns the error of an operator that does not exist for its operands. It names the operator only if the type of the
 * first operand has no operator of this group.
 */
export function noSuchOperator(name: string, first: Value): CelError {
  const kind = kindOf(first);
  const table = name === operators.add ? added : orderings.has(name) ? ordered : isNegation(name) ? negated : counted;
  const isShort = name === operators.in || answering.has(kind) || table.has(kind);
  return new CelError(isShort ? "no such overload" : `no such overload: ${name}`);
}
