/**
 * Handles JSON values as upstream's untyped decoder does: numbers are 64-bit integers (if they were written as
 * integers) or floats, and messages show values as Go prints them. A number may be a `JSON.rawJSON` object of
 * `decodeJson`.
 */
import { goQuote, GoSyntax } from "#meta/field-error.ts";
import { isRawNumber } from "#std/raw-number.ts";

/** The kinds of JSON values. A whole number that fits 64 bits is an `integer`. */
export type JsonKind = "null" | "boolean" | "string" | "array" | "object" | "integer" | "number";

/** A JSON object whose members are not known. */
export type Json = Readonly<Record<string, unknown>>;

const int64Bound = 2 ** 63;

/** Returns the kind of a value. A value that is `undefined` counts as null. */
export function kindOf(value: unknown): JsonKind {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return Number.isInteger(value) && value >= -int64Bound && value < int64Bound ? "integer" : "number";
    case "boolean":
      return "boolean";
    case "bigint":
      return BigInt.asIntN(64, value) === value ? "integer" : "number";
    default:
      if (value === null || value === undefined) return "null";
      if (Array.isArray(value)) return "array";
      return isRawNumber(value) ? (isWhole(value.rawJSON) ? "integer" : "number") : "object";
  }
}

const isWhole = (literal: string): boolean =>
  literal.length <= 20 && /^-?[0-9]+$/.test(literal) && BigInt.asIntN(64, BigInt(literal)) === BigInt(literal);

/**
 * Returns a number of the kinds `integer` and `number`: an integer exactly, even if a double cannot represent it,
 * another number as a double.
 */
export function numberOf(value: unknown): number | bigint {
  if (typeof value === "number") return value;
  // Other values of these kinds are raw numbers.
  const literal = typeof value === "bigint" ? String(value) : (value as { rawJSON: string }).rawJSON;
  const nearest = Number(literal);
  if (Number.isSafeInteger(nearest)) return nearest === 0 ? 0 : nearest;
  return isWhole(literal) ? BigInt(literal) : nearest;
}

/** Whether upstream accepts a float as an integer. */
export function isIntegral(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  if (whole === value) return true;
  const difference = Math.abs(value - whole);
  return whole !== 0 && difference / (Math.abs(value) + Math.abs(whole)) < 1e-9;
}

/**
 * Whether two values are equal as decoded JSON: the kinds of numbers count, the order of keys does not. Does not
 * recurse, so deep values need no stack.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  const waiting: unknown[] = [a, b];
  while (waiting.length > 0) {
    const right = waiting.pop();
    const left = waiting.pop();
    if (left === right) continue;
    const kind = kindOf(left);
    if (kind !== kindOf(right)) return false;
    if (kind === "array") {
      const [one, other] = [left as readonly unknown[], right as readonly unknown[]];
      if (one.length !== other.length) return false;
      for (let at = 0; at < one.length; at++) waiting.push(one[at], other[at]);
    } else if (kind === "object") {
      const [one, other] = [left as Json, right as Json];
      const keys = Object.keys(one);
      if (keys.length !== Object.keys(other).length) return false;
      for (const key of keys) {
        if (!Object.hasOwn(other, key)) return false;
        waiting.push(one[key], other[key]);
      }
    } else if (kind === "integer" || kind === "number") {
      if (numberOf(left) !== numberOf(right)) return false;
    } else return false;
  }
  return true;
}

/** Returns Go's `%v` of a float, such as `1.5` or `1e+06`. */
export function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Returns Go's `%v` of a number of either kind. */
export const goNumber = (value: unknown): string =>
  kindOf(value) === "integer" ? String(numberOf(value)) : goFloat(Number(numberOf(value)));

/**
 * Returns JSON as Go writes it: keys sorted, `<`, `>` and `&` escaped. Throws `RangeError` for a value that is nested
 * too deeply.
 */
export function goJson(value: unknown): string {
  switch (kindOf(value)) {
    case "array":
      return `[${(value as readonly unknown[]).map(goJson).join()}]`;
    case "object": {
      const object = value as Json;
      const names = Object.keys(object).sort();
      return `{${names.map((name) => `${goJson(name)}:${goJson(object[name])}`).join()}}`;
    }
    case "integer":
      return String(numberOf(value));
    case "number":
      return JSON.stringify(Number(numberOf(value)));
    default:
      return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeChar);
  }
}

const escapeChar = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Returns a value as messages show it: quoted texts, bare scalars, Go's syntax for lists and objects. */
export function showValue(value: unknown): string {
  const parts: string[] = [];
  let length = 0;
  const add = (text: string): void => {
    parts.push(text);
    length += text.length;
  };
  show(value, true, add, () => length > shownMax, 0);
  return parts.join("");
}

/** Returns a value as `showValue` does, for findings. */
export const shown = (value: unknown): GoSyntax => new GoSyntax(showValue(value));

/** The maximum length of a value that is shown; upstream shows all of it, once for each finding. */
const shownMax = 64 * 1024;
const shownDepthMax = 100;

function show(value: unknown, isTop: boolean, add: (text: string) => void, isFull: () => boolean, depth: number): void {
  const kind = kindOf(value);
  if (kind === "string") add(showText(value as string));
  else if (kind === "null") add(isTop ? '"null"' : "interface {}(nil)");
  else if (kind === "boolean") add(String(value));
  else if (kind === "integer" || kind === "number") add(goNumber(value));
  else if (depth > shownDepthMax || isFull()) add("...");
  else if (kind === "array") {
    add("[]interface {}{");
    let separator = "";
    for (const item of value as readonly unknown[]) {
      if (isFull()) {
        add(", ...");
        break;
      }
      add(separator);
      show(item, false, add, isFull, depth + 1);
      separator = ", ";
    }
    add("}");
  } else {
    add("map[string]interface {}{");
    let separator = "";
    for (const key of Object.keys(value as Json).sort()) {
      if (isFull()) {
        add(", ...");
        break;
      }
      add(`${separator}${goQuote(key)}:`);
      show((value as Json)[key], false, add, isFull, depth + 1);
      separator = ", ";
    }
    add("}");
  }
}

/** Returns a text in quotes. */
export const showText = (text: string): string =>
  text.length <= shownMax ? goQuote(text) : `${goQuote(text.slice(0, shownMax))}...`;

/**
 * Whether lists and objects in a value are nested deeper than `max`. Does not recurse, so deep values need no stack.
 */
export function isDeeper(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  let level: unknown[] = [value];
  for (let depth = 0; depth <= max; depth++) {
    const next: unknown[] = [];
    for (const part of level) {
      if (typeof part !== "object" || part === null || isRawNumber(part)) continue;
      for (const item of Object.values(part)) if (typeof item === "object" && item !== null) next.push(item);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
