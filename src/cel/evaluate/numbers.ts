/**
 * Implements arithmetic of int (a number if it is safe, else a bigint), uint and double, and their texts. Source: the
 * language definition; messages are cel-go's.
 */
import { CelError, Double, Uint } from "../values.ts";

/** An integer of 64 bits: a number if it is safe, else a bigint. */
export type Int = number | bigint;

const int64Max = 2n ** 63n - 1n;
const int64Min = -(2n ** 63n);
const uint64Max = 2n ** 64n - 1n;

const overflow = (): CelError => new CelError("integer overflow");
const uintOverflow = (): CelError => new CelError("unsigned integer overflow");

/** Returns `value` as an int; an error if it has more than 64 bits. */
export function intOf(value: bigint): Int | CelError {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  return value > int64Max || value < int64Min ? overflow() : value;
}

/** Returns `value` as a uint; an error if it is negative or has more than 64 bits. */
export const uintOf = (value: bigint): Uint | CelError =>
  value < 0n || value > uint64Max ? uintOverflow() : new Uint(value);

/** Adds; an error if the sum has more than 64 bits, as for the other operations on ints. */
export function addInts(a: Int, b: Int): Int | CelError {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return intOf(BigInt(a) + BigInt(b));
}

export function subtractInts(a: Int, b: Int): Int | CelError {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return intOf(BigInt(a) - BigInt(b));
}

export function multiplyInts(a: Int, b: Int): Int | CelError {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    // Adding 0 turns -0, which is not an int, into 0.
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return intOf(BigInt(a) * BigInt(b));
}

/** Divides and drops the remainder, so that -7 / 2 is -3. Division by zero is an error. */
export function divideInts(a: Int, b: Int): Int | CelError {
  if (b === 0) return new CelError("division by zero");
  if (typeof a === "number" && typeof b === "number") return (a - (a % b)) / b + 0;
  return intOf(BigInt(a) / BigInt(b));
}

/** Returns the remainder of a division, which has the sign of `a`. Modulus by zero is an error. */
export function moduloInts(a: Int, b: Int): Int | CelError {
  if (b === 0) return new CelError("modulus by zero");
  if (typeof a === "number" && typeof b === "number") return (a % b) + 0;
  if (BigInt(a) === int64Min && b === -1) return overflow();
  return intOf(BigInt(a) % BigInt(b));
}

export function negateInt(a: Int): Int | CelError {
  return typeof a === "number" ? 0 - a : intOf(-a);
}

/** The operators `+ - * / %` of uints. */
export const uintArithmetic = {
  add: (a: Uint, b: Uint): Uint | CelError => uintOf(a.value + b.value),
  subtract: (a: Uint, b: Uint): Uint | CelError => uintOf(a.value - b.value),
  multiply: (a: Uint, b: Uint): Uint | CelError => uintOf(a.value * b.value),
  divide: (a: Uint, b: Uint): Uint | CelError =>
    b.value === 0n ? new CelError("division by zero") : new Uint(a.value / b.value),
  modulo: (a: Uint, b: Uint): Uint | CelError =>
    b.value === 0n ? new CelError("modulus by zero") : new Uint(a.value % b.value),
} as const;

/**
 * Returns a double as an int, truncated toward zero. Both ends of int64 are out of range, since the doubles there are
 * not exact.
 */
export function intOfDouble(value: number): Int | CelError {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) return overflow();
  return intOf(BigInt(Math.trunc(value)));
}

/** Returns a double as a uint, truncated toward zero; an error if it is out of range. */
export function uintOfDouble(value: number): Uint | CelError {
  if (!(value >= 0 && value < 2 ** 64)) return uintOverflow();
  return new Uint(BigInt(Math.trunc(value)));
}

/** Parses a decimal of 64 bits with an optional sign, as Go does; returns `undefined` for other texts. */
export function parseInt64(text: string): Int | undefined {
  if (!/^[+-]?[0-9]{1,400}$/.test(text)) return undefined;
  const value = intOf(BigInt(text.replace("+", "")));
  return value instanceof CelError ? undefined : value;
}

/** Parses a decimal of 64 bits without a sign; returns `undefined` for other texts. */
export function parseUint64(text: string): Uint | undefined {
  if (!/^[0-9]{1,400}$/.test(text)) return undefined;
  const value = uintOf(BigInt(text));
  return value instanceof CelError ? undefined : value;
}

/**
 * Parses a decimal or hexadecimal floating point number, `inf` or `nan`, as Go does; returns `undefined` for other
 * texts.
 */
export function parseDouble(source: string): Double | undefined {
  const text = source.replace(/(?<=\d)_(?=\d)/g, "");
  if (/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? new Double(value) : undefined;
  }
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special === null) return parseHexDouble(text);
  if (special[2]!.toLowerCase() === "nan") return special[1] === "" ? new Double(Number.NaN) : undefined;
  return new Double(special[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
}

function parseHexDouble(text: string): Double | undefined {
  const match = /^([+-]?)0x([0-9a-f]{0,300})(?:\.([0-9a-f]{0,300}))?p([+-]?[0-9]{1,6})$/i.exec(text);
  if (match === null) return undefined;
  const fraction = match[3] ?? "";
  const digits = match[2]! + fraction;
  if (digits === "") return undefined;
  const exponent = Number(match[4]) - 4 * fraction.length;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** exponent;
  return Number.isFinite(value) ? new Double(match[1] === "-" ? -value : value) : undefined;
}

const named = (value: number): string | undefined =>
  Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? undefined : value < 0 ? "-Inf" : "+Inf";

/**
 * Returns the text of `string(double)`: the shortest digits, with an exponent outside of 1e-4 to 1e6, such as `1e+06`.
 */
export function doubleText(value: number): string {
  const special = named(value);
  if (special !== undefined) return special;
  if (Object.is(value, -0)) return "-0";
  // The result of `toExponential` always has an exponent.
  const [digits, power] = value.toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 6) return `${digits}e${exponentText(exponent)}`;
  return plainText(value);
}

/** Returns a number in the shortest digits, without an exponent. */
export function plainText(value: number): string {
  const special = named(value);
  if (special !== undefined) return special;
  if (Object.is(value, -0)) return "-0";
  const text = String(value);
  if (!text.includes("e")) return text;
  // The result of `toExponential` always has an exponent.
  const [mantissa, power] = value.toExponential().split("e") as [string, string];
  const digits = mantissa.replace("-", "").replace(".", "");
  const sign = value < 0 ? "-" : "";
  const exponent = Number(power);
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  return sign + digits.padEnd(exponent + 1, "0");
}

/** Returns an exponent as Go writes it: a sign and at least two digits. */
const exponentText = (exponent: number): string =>
  `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
