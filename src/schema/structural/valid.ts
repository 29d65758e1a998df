/**
 * Checks whether a value fits its schema, which is the whole check for nearly every write. Hot path: plain loops over
 * compiled nodes, no allocation; `explain.ts` finds the errors in a second walk. Benchmark:
 * `bench/structural.bench.ts`.
 */
import { invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { codePointCount } from "#std/code-points.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { goJson, isIntegral, kindOf, numberOf } from "../go-json.ts";
import { enumCost, isEnumValue, kindBits, type NumberRules, type SchemaNode } from "./node.ts";

/**
 * The cost limit of one check. Applying a schema to a value costs a unit, and matching text by a pattern costs a unit
 * for eight characters times instructions. A value of 3 MB with an ordinary schema stays far below the limit; anyOf
 * with thousands of branches over lists of a million items would take minutes.
 */
export class Budget {
  left: number;

  constructor(units: number) {
    this.left = units;
  }

  spend(units: number): void {
    this.left -= units;
    if (this.left < 0) throw new TooCostly();
  }
}

/** Thrown if the value is too large for its schema. */
export class TooCostly extends Error {
  readonly finding = invalid(FieldPath.root, "", "the object is too large to be checked against its schema");
}

const unitsMax = 12_000_000;

/** Returns the budget of one value, for `isValid` and then, if the value does not fit, for `explain`. */
export const checkBudget = (): Budget => new Budget(unitsMax);

const { null: NULL, boolean: BOOLEAN, string: STRING, array: ARRAY, object: OBJECT } = kindBits;
const { integer: INTEGER, number: NUMBER } = kindBits;

/** Whether a value fits its schema. Throws `TooCostly`. */
export function isValid(node: SchemaNode, value: unknown, budget: Budget): boolean {
  if (--budget.left < 0) throw new TooCostly();
  const accepts = node.accepts;
  switch (typeof value) {
    case "string":
      if ((accepts & STRING!) === 0) return false;
      if (node.hasText && !textValid(node, value, budget)) return false;
      if (node.enum !== undefined && !node.enum.strings.has(value)) return false;
      break;
    case "number":
    case "bigint":
      if (!numberValid(node, value, budget)) return false;
      break;
    case "boolean":
      if ((accepts & BOOLEAN!) === 0) return false;
      if (node.enum !== undefined && !otherInEnum(node, value, budget)) return false;
      break;
    default:
      if (value === null || value === undefined) return (accepts & NULL!) !== 0 && node.enum === undefined;
      if (Array.isArray(value)) {
        if ((accepts & ARRAY!) === 0 || !listValid(node, value, budget)) return false;
        if (node.enum !== undefined && !otherInEnum(node, value, budget)) return false;
      } else if ((accepts & OBJECT!) !== 0 && !isRawNumber(value)) {
        if (!objectValid(node, value as Record<string, unknown>, budget)) return false;
        if (node.enum !== undefined && !otherInEnum(node, value, budget)) return false;
      } else if (!isRawNumber(value) || !numberValid(node, value, budget)) return false;
  }
  return node.logic === undefined || logicValid(node, value, budget);
}

function otherInEnum(node: SchemaNode, value: unknown, budget: Budget): boolean {
  if (typeof value === "number" && node.enum!.integers.has(value)) return true;
  budget.spend(enumCost(node.enum!, value));
  return isEnumValue(node.enum!, value);
}

function objectValid(node: SchemaNode, object: Readonly<Record<string, unknown>>, budget: Budget): boolean {
  const { properties, additional } = node;
  let count = 0;
  if (properties === undefined && (additional === undefined || additional === true)) {
    if (node.minProperties > 0 || node.maxProperties !== Number.POSITIVE_INFINITY) count = Object.keys(object).length;
  } else {
    for (const name in object) {
      count++;
      const property = properties === undefined ? undefined : properties.get(name);
      if (property !== undefined) {
        if (!isValid(property, object[name], budget)) return false;
      } else if (additional !== undefined && additional !== true) {
        if (additional === false || !isValid(additional, object[name], budget)) return false;
      }
    }
  }
  if (count < node.minProperties || count > node.maxProperties) return false;
  const { required } = node;
  if (required !== undefined) {
    for (let at = 0; at < required.length; at++) if (!Object.hasOwn(object, required[at]!)) return false;
  }
  return true;
}

function listValid(node: SchemaNode, list: readonly unknown[], budget: Budget): boolean {
  const size = list.length;
  if (size < node.minItems || size > node.maxItems) return false;
  const { items } = node;
  if (items !== undefined) for (let at = 0; at < size; at++) if (!isValid(items, list[at], budget)) return false;
  return !node.uniqueItems || isUnique(list);
}

/** Whether no two members are equal. */
export const isUnique = (list: readonly unknown[]): boolean => new Set(list.map(goJson)).size === list.length;

function textValid(node: SchemaNode, text: string, budget: Budget): boolean {
  if (text.length > node.maxLength && codePointCount(text) > node.maxLength) return false;
  if (text.length < node.minLength * 2 && codePointCount(text) < node.minLength) return false;
  const { pattern, formatCheck } = node;
  if (pattern !== undefined) {
    budget.spend(text.length);
    if (!pattern.test(text, budget)) return false;
  }
  return formatCheck === undefined || formatCheck(text);
}

function numberValid(node: SchemaNode, value: unknown, budget: Budget): boolean {
  const isInteger = typeof value === "number" && (value | 0) === value ? true : kindOf(value) === "integer";
  if ((node.accepts & (isInteger ? INTEGER! : NUMBER!)) === 0) {
    if (isInteger || (node.types & INTEGER!) === 0 || !isIntegral(Number(numberOf(value)))) return false;
  }
  if (node.numbers !== undefined) {
    const number = numberOf(value);
    if (!maximumHolds(node.numbers, number, isInteger) || !minimumHolds(node.numbers, number, isInteger)) return false;
    if (multipleOfFault(node.numbers, number, isInteger) !== undefined) return false;
  }
  return node.enum === undefined || otherInEnum(node, value, budget);
}

/** Returns a limit for integers, which upstream cuts to an integer. */
export function wholeLimit(limit: number): number {
  return Math.trunc(limit);
}

/** Whether a number does not exceed the maximum, if there is one. */
export function maximumHolds(rules: NumberRules, value: number | bigint, isInteger: boolean): boolean {
  const { maximum } = rules;
  if (maximum === undefined) return true;
  const limit = isInteger ? wholeLimit(maximum) : maximum;
  return rules.exclusiveMaximum ? value < limit : value <= limit;
}

/** Whether a number is not below the minimum, if there is one. */
export function minimumHolds(rules: NumberRules, value: number | bigint, isInteger: boolean): boolean {
  const { minimum } = rules;
  if (minimum === undefined) return true;
  const limit = isInteger ? wholeLimit(minimum) : minimum;
  return rules.exclusiveMinimum ? value > limit : value >= limit;
}

/**
 * Checks `multipleOf`. Returns `factor` if the schema's number is not positive, which it may become when it is cut to
 * an integer; `value` if the value is not a multiple of it.
 */
export function multipleOfFault(
  rules: NumberRules,
  value: number | bigint,
  isInteger: boolean,
): "factor" | "value" | undefined {
  if (rules.multipleOf === undefined) return undefined;
  const factor = isInteger ? wholeLimit(rules.multipleOf) : rules.multipleOf;
  if (factor <= 0) return "factor";
  if (isInteger) {
    const rest = typeof value === "bigint" ? value % BigInt(factor) === 0n : value % factor === 0;
    return rest ? undefined : "value";
  }
  const number = Number(value);
  return isIntegral(factor < 1 ? (1 / factor) * number : number / factor) ? undefined : "value";
}

function logicValid(node: SchemaNode, value: unknown, budget: Budget): boolean {
  const { allOf, anyOf, oneOf, not } = node.logic!;
  for (let at = 0; at < allOf.length; at++) if (!isValid(allOf[at]!, value, budget)) return false;
  if (anyOf.length > 0) {
    let at = 0;
    while (at < anyOf.length && !isValid(anyOf[at]!, value, budget)) at++;
    if (at === anyOf.length) return false;
  }
  if (oneOf.length > 0) {
    let count = 0;
    for (let at = 0; at < oneOf.length; at++) if (isValid(oneOf[at]!, value, budget) && ++count > 1) return false;
    if (count !== 1) return false;
  }
  return not === undefined || !isValid(not, value, budget);
}
