/**
 * Quantities: fixed-point numbers with a suffix (`1500m`, `10Gi`, `1e3`). Canonical text, rounding (up, to nano), the
 * cap of binary values at 2^63-1 and error messages are those of upstream's `api/resource`.
 *
 * Hot path of writes: common short forms are recognised by their characters; others use BigInt. Exponents are never
 * expanded beyond the result's precision, so a hostile `1e999999999` costs nothing.
 */

type QuantityFormat = "decimalSI" | "binarySI" | "decimalExponent";

/** The number `unscaled * 10^exponent`. `format` is the family of suffixes with which it is printed. */
export interface Quantity {
  readonly unscaled: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

/** The reason why a text is no quantity, in upstream's words, if it has the wrong form. */
export const wrongQuantityFormat =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongSuffix = "unable to parse quantity's suffix";
const wrongNumber = "unable to parse numeric part of quantity";

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const decimalNames: ReadonlyMap<number, string> = new Map([...decimalSuffixes].map(([name, power]) => [power, name]));
const binaryNames = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The maximum length of a text: no sensible number is longer, and its arithmetic would cost much. */
const lengthMax = 1000;
const binaryMax = (1n << 63n) - 1n;

interface Parts {
  readonly negative: boolean;
  /** The digits before the point, without leading zeros (`0` when none are left), and the digits after it. */
  readonly whole: string;
  readonly fraction: string;
  readonly format: QuantityFormat;
  /** The power of ten, or of two for binary suffixes. */
  readonly power: number;
}

const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;

/** Returns the parts of a text, or an error message when it is not a quantity. */
function split(text: string): Parts | string {
  if (text === "" || text.length > lengthMax) return wrongQuantityFormat;
  const match = shape.exec(text);
  // `$` also matches before a final line feed, which is invalid in a quantity.
  if (match === null || text.endsWith("\n")) return wrongQuantityFormat;
  const [, sign = "", digits = "", fraction = "", suffix = ""] = match;
  const family = readSuffix(suffix);
  if (family === undefined) return wrongSuffix;
  if (digits === "" && fraction === "") {
    // Upstream treats a missing number as zero, except in its slow parser.
    const isSlow = family.format === "binarySI" ? family.power >= 50 : family.power < -9;
    if (isSlow) return wrongNumber;
  }
  const whole = digits.replace(/^0+/, "");
  return { negative: sign === "-", whole: whole === "" ? "0" : whole, fraction, ...family };
}

function readSuffix(suffix: string): { format: QuantityFormat; power: number } | undefined {
  const power = decimalSuffixes.get(suffix);
  if (power !== undefined) return { format: "decimalSI", power };
  const binary = binaryNames.indexOf(suffix);
  if (binary > 0) return { format: "binarySI", power: binary * 10 };
  if (/^[eE][-+]?[0-9]+$/.test(suffix)) {
    const exponent = BigInt(suffix[1] === "+" ? suffix.slice(2) : suffix.slice(1));
    if (exponent > binaryMax || exponent < -binaryMax - 1n) return undefined;
    // Upstream keeps the exponent in 32 bits, so larger exponents wrap around.
    return { format: "decimalExponent", power: Number(BigInt.asIntN(32, exponent)) };
  }
  return undefined;
}

/** The number of digits that a double holds exactly, whatever they are. */
const exactDigits = 15;

/** Returns the number of digits with which a text begins; 0 if a double may not hold them. */
function leadingDigits(text: string): number {
  let at = 0;
  while (at <= exactDigits && isDigit(text.charCodeAt(at))) at++;
  return at > exactDigits ? 0 : at;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function numberOf(text: string, digits: number): number {
  let value = 0;
  for (let at = 0; at < digits; at++) value = value * 10 + text.charCodeAt(at) - 0x30;
  return value;
}

/** Returns the quantity of a text of few digits and a suffix, as most are; `undefined` for every other text. */
function parsePlain(text: string): Quantity | undefined {
  const at = leadingDigits(text);
  if (at === 0) return undefined;
  const value = numberOf(text, at);
  const suffix = text.slice(at);
  const power = decimalSuffixes.get(suffix);
  if (power !== undefined) return { unscaled: BigInt(value), exponent: value === 0 ? 0 : power, format: "decimalSI" };
  const binary = binaryNames.indexOf(suffix);
  const scaled = value * 1024 ** binary;
  return binary < 0 || !Number.isSafeInteger(scaled)
    ? undefined
    : { unscaled: BigInt(scaled), exponent: 0, format: "binarySI" };
}

/** Returns the quantity of `text`, ignoring surrounding space; `undefined` when it is invalid. */
export function parseQuantity(text: string): Quantity | undefined {
  const plain = parsePlain(text);
  if (plain !== undefined) return plain;
  const parts = split(text.trim());
  return typeof parts === "string" ? undefined : valueOf(parts);
}

/** Returns the reason why `text` is not a quantity, in upstream's words; empty when it is valid. */
export function quantityError(text: string): string {
  const parts = split(text.trim());
  return typeof parts === "string" ? parts : "";
}

function valueOf(parts: Parts): Quantity {
  let unscaled = BigInt(parts.whole + parts.fraction);
  let exponent = 0 - parts.fraction.length;
  let format = parts.format;
  if (format === "binarySI") unscaled <<= BigInt(parts.power);
  else exponent += parts.power;
  if (unscaled !== 0n && exponent < -9) {
    unscaled = divideUp(unscaled, -9 - exponent);
    exponent = -9;
  }
  if (format === "binarySI") {
    if (compareMagnitudes(unscaled, exponent, binaryMax, 0) > 0) {
      unscaled = binaryMax;
      exponent = 0;
    }
    if (unscaled > 0n && compareMagnitudes(unscaled, exponent, 1n, 0) < 0) format = "decimalSI";
  }
  return { unscaled: parts.negative ? -unscaled : unscaled, exponent: unscaled === 0n ? 0 : exponent, format };
}

/** Returns `value / 10^digits`, rounded up. */
function divideUp(value: bigint, digits: number): bigint {
  // A number with fewer digits than `digits` is less than one, which is rounded up.
  if (digits > value.toString().length) return 1n;
  const divisor = 10n ** BigInt(digits);
  return (value + divisor - 1n) / divisor;
}

/** Compares two non-negative numbers. Exponents that already decide are not expanded. */
function compareMagnitudes(a: bigint, aExponent: number, b: bigint, bExponent: number): number {
  if (aExponent === bExponent) return a < b ? -1 : a > b ? 1 : 0;
  if (a === 0n || b === 0n) return a === b ? 0 : a === 0n ? -1 : 1;
  const sizeA = a.toString().length + aExponent;
  const sizeB = b.toString().length + bExponent;
  if (sizeA !== sizeB) return sizeA < sizeB ? -1 : 1;
  const common = Math.min(aExponent, bExponent);
  const left = a * 10n ** BigInt(aExponent - common);
  const right = b * 10n ** BigInt(bExponent - common);
  return left < right ? -1 : left > right ? 1 : 0;
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

export function compareQuantities(a: Quantity, b: Quantity): number {
  const signA = a.unscaled < 0n ? -1 : a.unscaled > 0n ? 1 : 0;
  const signB = b.unscaled < 0n ? -1 : b.unscaled > 0n ? 1 : 0;
  if (signA !== signB) return signA < signB ? -1 : 1;
  const [left, right] = signA < 0 ? [b, a] : [a, b];
  return compareMagnitudes(magnitude(left.unscaled), left.exponent, magnitude(right.unscaled), right.exponent);
}

/** Compares two texts, as most of them without BigInt. A text that is no quantity equals all others. */
export function compareQuantityTexts(a: string, b: string): number {
  if (a === b) return 0;
  const difference = plainThousandths(a) - plainThousandths(b);
  if (!Number.isNaN(difference)) return Math.sign(difference);
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return left === undefined || right === undefined ? 0 : compareQuantities(left, right);
}

/**
 * Returns the thousandths of a text of few digits and a common suffix, if a double holds them exactly; NaN for every
 * other text.
 */
export function plainThousandths(text: string): number {
  const at = leadingDigits(text);
  if (at === 0) return Number.NaN;
  const scaled = numberOf(text, at) * unitThousandths(text, at);
  return Number.isSafeInteger(scaled) ? scaled : Number.NaN;
}

/** Returns the thousandths of the unit whose suffix begins at `at`; NaN for less common suffixes. */
function unitThousandths(text: string, at: number): number {
  const length = text.length - at;
  if (length === 0) return 1000;
  const isBinary = length === 2 && text.charCodeAt(at + 1) === 0x69;
  if (length > 1 && !isBinary) return Number.NaN;
  switch (text[at]) {
    case "m":
      return isBinary ? Number.NaN : 1;
    case "k":
      return isBinary ? Number.NaN : 1000 ** 2;
    case "K":
      return isBinary ? 1000 * 1024 : Number.NaN;
    case "M":
      return 1000 * (isBinary ? 1024 ** 2 : 1000 ** 2);
    case "G":
      return 1000 * (isBinary ? 1024 ** 3 : 1000 ** 3);
    default:
      return Number.NaN;
  }
}

/**
 * The maximum difference of exponents: beyond it the smaller number does not count, so that hostile exponents are never
 * expanded.
 */
const spreadMax = 3000;

/** Returns the sum. It has the format of the first number, unless that number does not count. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  if (a.unscaled === 0n) return b;
  if (b.unscaled === 0n) return a;
  const spread = a.exponent - b.exponent;
  if (spread === 0) return sumOf(a.unscaled + b.unscaled, a.exponent, a.format);
  if (Math.abs(spread) > spreadMax) return spread > 0 ? a : b;
  const exponent = Math.min(a.exponent, b.exponent);
  const widened = (one: Quantity): bigint => one.unscaled * 10n ** BigInt(one.exponent - exponent);
  return sumOf(widened(a) + widened(b), exponent, a.format);
}

const sumOf = (unscaled: bigint, exponent: number, format: QuantityFormat): Quantity => ({
  unscaled,
  exponent: unscaled === 0n ? 0 : exponent,
  format,
});

export const subtractQuantities = (a: Quantity, b: Quantity): Quantity =>
  addQuantities(a, { ...b, unscaled: -b.unscaled });

/** Returns the quantity in thousandths or as a whole number, rounded up, and at most 2^63-1. */
export function integerQuantity({ unscaled, exponent }: Quantity, unit: "whole" | "milli"): bigint {
  const power = exponent + (unit === "milli" ? 3 : 0);
  const value = magnitude(unscaled);
  const most = (limited: bigint): bigint => (limited > binaryMax ? binaryMax : limited);
  let whole: bigint;
  if (value === 0n) return 0n;
  if (power >= 0) whole = power > 19 ? binaryMax : most(value * 10n ** BigInt(power));
  else if (unscaled > 0n) whole = most(divideUp(value, -power));
  else whole = -power > value.toString().length ? 0n : most(value / 10n ** BigInt(-power));
  return unscaled < 0n ? -whole : whole;
}

/** Returns the canonical text: an integer with the largest exact suffix. */
export function formatQuantity(quantity: Quantity): string {
  const { unscaled, exponent, format } = quantity;
  if (unscaled === 0n) return "0";
  const sign = unscaled < 0n ? "-" : "";
  const value = magnitude(unscaled);
  if (format === "binarySI" && compareMagnitudes(value, exponent, 1024n, 0) >= 0) {
    const whole = wholeValue(value, exponent);
    if (whole !== undefined) return sign + formatBinary(whole);
  }
  return sign + formatDecimal(value, exponent, format === "decimalExponent" ? format : "decimalSI");
}

/** Returns the whole number; `undefined` when there is a fraction. */
function wholeValue(value: bigint, exponent: number): bigint | undefined {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return value % divisor === 0n ? value / divisor : undefined;
}

function formatBinary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (rest >= 1024n && rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  // Upstream prints no suffix for powers without a suffix.
  return `${rest}${binaryNames[power] ?? ""}`;
}

function formatDecimal(value: bigint, exponent: number, format: "decimalSI" | "decimalExponent"): string {
  const digits = value.toString();
  const significant = digits.replace(/0+$/, "");
  let power = exponent + digits.length - significant.length;
  const over = ((power % 3) + 3) % 3;
  power -= over;
  const number = significant + "0".repeat(over);
  if (format === "decimalSI") return number + (decimalNames.get(power) ?? "");
  return power === 0 ? number : `${number}e${power}`;
}

/**
 * Returns the text that the API shows for `text`: as upstream, some forms are unchanged (`+5`, `1E3`), and the others
 * become canonical. `undefined` when it is not a quantity.
 */
export function canonicalQuantity(text: string): string | undefined {
  if (isPlain(text)) return text;
  const trimmed = text.trim();
  const parts = split(trimmed);
  if (typeof parts === "string") return undefined;
  return keepsText(parts) ? trimmed : formatQuantity(valueOf(parts));
}

/** Whether upstream prints the text that it parsed, with leading zeros and a plus sign. */
function keepsText(parts: Parts): boolean {
  if (isBig(parts)) return false;
  const { whole, fraction, power } = parts;
  if (parts.format === "binarySI") return (Number(whole) & 7) !== 0;
  const digits = whole + fraction;
  return (power - fraction.length) % 3 === 0 && !digits.endsWith("000") && digits[0] !== "0";
}

/** Whether upstream keeps the number as a decimal of any size, whatever its value. */
function isBig({ format, whole, fraction, power }: Parts): boolean {
  if (format === "binarySI") return fraction !== "" || 15 - whole.length - Math.trunc((power * 3) / 10) - 1 < 0;
  return whole.length + fraction.length > 18 || power - fraction.length < -9;
}

/**
 * Whether a text is short and certainly canonical: up to 9 digits without a leading zero, then nothing or a common
 * suffix.
 */
function isPlain(text: string): boolean {
  const length = text.length;
  if (length === 0 || length > 11) return false;
  let at = 0;
  let value = 0;
  for (; at < length; at++) {
    const code = text.charCodeAt(at) - 48;
    if (code < 0 || code > 9) break;
    value = value * 10 + code;
  }
  if (at === 0 || at > 9) return false;
  if (text.charCodeAt(0) === 48) return length === 1;
  if (at === length) return value % 1000 !== 0;
  const suffix = text.charCodeAt(at);
  if (at + 1 === length) {
    // The suffixes are m, k, M, G.
    return value % 1000 !== 0 && (suffix === 109 || suffix === 107 || suffix === 77 || suffix === 71);
  }
  // The suffixes are Ki, Mi, Gi. With more digits, a carry into the next suffix or the cap would have to be checked.
  return (
    at + 2 === length &&
    text.charCodeAt(at + 1) === 105 &&
    (suffix === 75 || suffix === 77 || suffix === 71) &&
    at <= 5 &&
    (value & 1023) !== 0
  );
}
