/**
 * Kubernetes' functions on quantities: `quantity(text)`, `isQuantity`, comparison and arithmetic.
 *
 * Upstream represents a quantity in 64 bits with a power of ten if its text allows that, and in arbitrary precision
 * otherwise. Expressions can see the difference: only quantities in 64 bits can be converted to integers.
 */
import { compareQuantities, parseQuantity, type Quantity, quantityError } from "#meta/quantity.ts";
import { isInt } from "../evaluate/kinds.ts";
import type { FunctionDeclaration, Library, Overload } from "../functions.ts";
import { bool, type CelType, double, int, opaque, string } from "../types.ts";
import { CelError, Double, Opaque, type Value } from "../values.ts";
import { member, memberFunction, onText, plain, plainFunction, traversalCost } from "./declare.ts";

export const quantityType = opaque("kubernetes.Quantity");

class QuantityValue extends Opaque {
  readonly type = quantityType;
  /** The value is `unscaled * 10^exponent`, with the exponent that upstream has. */
  readonly unscaled: bigint;
  readonly exponent: number;
  /** Whether upstream represents it in 64 bits. */
  readonly isSmall: boolean;

  constructor(unscaled: bigint, exponent: number, isSmall: boolean) {
    super();
    this.unscaled = unscaled;
    this.exponent = exponent;
    this.isSmall = isSmall;
  }

  equals(other: Value): boolean | undefined {
    return other instanceof QuantityValue ? compare(this, other) === 0 : undefined;
  }

  get sign(): number {
    return this.unscaled < 0n ? -1 : this.unscaled > 0n ? 1 : 0;
  }

  /** The value as an integer; `undefined` if upstream does not represent it as one, as for `1.0`. */
  get integer(): bigint | undefined {
    return this.isSmall && this.exponent >= 0 ? scaledUp(this.unscaled, this.exponent) : undefined;
  }
}

const compare = (a: QuantityValue, b: QuantityValue): number => compareQuantities(plainQuantity(a), plainQuantity(b));

const plainQuantity = ({ unscaled, exponent }: QuantityValue): Quantity => ({
  unscaled,
  exponent,
  format: "decimalSI",
});

const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value;

/** Returns `value * 10^digits`, or `undefined` if it does not fit in 64 bits. */
function scaledUp(value: bigint, digits: number): bigint | undefined {
  if (value === 0n) return 0n;
  const scaled = digits > 18 ? undefined : value * 10n ** BigInt(digits);
  return scaled !== undefined && isInt64(scaled) ? scaled : undefined;
}

const form = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([-+]?[0-9]+))$/;
const suffixPowers: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/**
 * Parses a text that upstream represents in 64 bits: its digits and their exponent. Returns `undefined` for other
 * texts.
 */
function parseSmall(text: string): QuantityValue | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, sign, digits = "", fraction = "", binary, suffix, power] = match;
  const whole = digits === "" ? "0" : digits;
  const isNegative = sign === "-";
  if (binary !== undefined) {
    const bits = binarySuffixes.indexOf(binary) * 10;
    if (fraction !== "" || 15 - whole.length - Math.trunc((bits * 3) / 10) - 1 < 0) return undefined;
    return small(isNegative, BigInt(whole) << BigInt(bits), 0);
  }
  const exponent = power === undefined ? (suffixPowers[suffix ?? ""] ?? 0) : exponentOf(power);
  const scale = exponent - fraction.length;
  if (whole.length + fraction.length > 18 || scale < -9) return undefined;
  return small(isNegative, BigInt(whole + fraction), scale);
}

/** Returns an exponent, cut to 32 bits as upstream does. */
const exponentOf = (digits: string): number =>
  Number(BigInt.asIntN(32, BigInt(digits.startsWith("+") ? digits.slice(1) : digits)));

const small = (isNegative: boolean, value: bigint, exponent: number): QuantityValue =>
  new QuantityValue(isNegative ? -value : value, exponent, true);

/** The exponent above which numbers are never expanded to all their digits. */
const exponentMax = 400;

function parse(text: string): QuantityValue | CelError {
  // Objects may have space around a quantity, but expressions may not.
  const quantity = text === text.trim() ? parseQuantity(text) : undefined;
  if (quantity === undefined) return new CelError(quantityError(text === text.trim() ? text : ""));
  return parseSmall(text) ?? large(quantity);
}

/**
 * Returns a quantity in arbitrary precision. Upstream rounds these quantities to nine decimals, and represents them
 * with all nine.
 */
function large({ unscaled, exponent }: Quantity): QuantityValue {
  const isWritten = unscaled !== 0n && exponent > -9 && exponent <= exponentMax;
  if (!isWritten) return new QuantityValue(unscaled, exponent, false);
  return new QuantityValue(unscaled * 10n ** BigInt(exponent + 9), -9, false);
}

/** Adds two quantities as upstream does: in 64 bits if the sum fits, else in arbitrary precision. */
function add(a: QuantityValue, b: QuantityValue): QuantityValue | CelError {
  if (a.isSmall && b.isSmall) {
    if (b.unscaled === 0n) return a;
    if (a.unscaled === 0n) return b;
    const exponent = Math.min(a.exponent, b.exponent);
    const left = scaledUp(a.unscaled, a.exponent - exponent);
    const right = scaledUp(b.unscaled, b.exponent - exponent);
    if (left !== undefined && right !== undefined && isInt64(left + right)) {
      return new QuantityValue(left + right, exponent, true);
    }
  }
  const exponent = Math.min(a.exponent, b.exponent);
  if (Math.max(a.exponent, b.exponent) - exponent > 2 * exponentMax) return new CelError("quantity out of range");
  const sum = widenTo(a, exponent) + widenTo(b, exponent);
  return new QuantityValue(sum, exponent, false);
}

const widenTo = ({ unscaled, exponent }: QuantityValue, to: number): bigint => unscaled * 10n ** BigInt(exponent - to);

/** Negates a quantity. The smallest number of 64 bits is its own negation, as upstream. */
function negate({ unscaled, exponent, isSmall }: QuantityValue): QuantityValue {
  return new QuantityValue(isSmall ? BigInt.asIntN(64, -unscaled) : -unscaled, exponent, isSmall);
}

/** Returns a quantity as a double, multiplied in floating point as upstream does. */
function approximate({ unscaled, exponent }: QuantityValue): Double {
  if (exponent === 0) return new Double(Number(unscaled));
  return new Double(Number(unscaled) * (exponent < -323 ? 0 : Number(`1e${exponent}`)));
}

type Call = NonNullable<Overload["call"]>;

/** The work of reading one quantity. */
const readWork = 200;

/** Returns the work of using one quantity. A large one has as many digits as its text, and hundreds of zeros. */
const arithmeticWork = ({ isSmall, unscaled }: QuantityValue): number =>
  isSmall ? 30 : 300 + unscaled.toString(16).length / 4;

/** Returns a function of two quantities. `takesInt`: whether the second argument may be an int. */
const onTwo =
  (result: (a: QuantityValue, b: QuantityValue) => Value | CelError, takesInt = false): Call =>
  ([a, b], context) => {
    const other = takesInt && isInt(b) ? new QuantityValue(BigInt(b), 0, true) : b;
    if (!(a instanceof QuantityValue && other instanceof QuantityValue)) return undefined;
    context.work(arithmeticWork(a) + arithmeticWork(other));
    return result(a, other);
  };

const onQuantity = onText(readWork, 2);

const asInteger = ({ integer }: QuantityValue): Value | CelError => {
  if (integer === undefined) return new CelError("cannot convert value to integer");
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
};

const one = (name: string, id: string, result: CelType, read: (quantity: QuantityValue) => Value | CelError) =>
  memberFunction(name, id, [quantityType], result, ([quantity]) =>
    quantity instanceof QuantityValue ? read(quantity) : undefined,
  );

const two = (name: string, id: string, result: CelType, read: (a: QuantityValue, b: QuantityValue) => Value) =>
  memberFunction(name, id, [quantityType, quantityType], result, onTwo(read));

function arithmetic(name: string, of: (a: QuantityValue, b: QuantityValue) => Value | CelError): FunctionDeclaration {
  const call = onTwo(of, true);
  return {
    name,
    overloads: [
      member(`quantity_${name}`, [quantityType, quantityType], quantityType, call),
      member(`quantity_${name}_int`, [quantityType, int], quantityType, call),
    ],
  };
}

const sign: Call = ([quantity]) => (quantity instanceof QuantityValue ? quantity.sign : undefined);
const isQuantity = onQuantity((text) => parse(text) instanceof Opaque);

export const quantityLibrary: Library = {
  name: "k8s.quantity",
  functions: [
    plainFunction("quantity", "string_to_quantity", [string], quantityType, onQuantity(parse), traversalCost()),
    plainFunction("isQuantity", "is_quantity_string", [string], bool, isQuantity, traversalCost()),
    {
      name: "sign",
      overloads: [
        // Upstream: 1.32 has only `sign(quantity)`, though its documentation shows the other form.
        plain("quantity_sign", [quantityType], int, sign),
        member("quantity_sign_member", [quantityType], int, sign),
      ],
    },
    one("isInteger", "quantity_is_integer", bool, ({ integer }) => integer !== undefined),
    one("asInteger", "quantity_get_int", int, asInteger),
    one("asApproximateFloat", "quantity_get_float", double, approximate),
    arithmetic("add", add),
    arithmetic("sub", (a, b) => add(a, negate(b))),
    two("isLessThan", "quantity_is_less_than", bool, (a, b) => compare(a, b) < 0),
    two("isGreaterThan", "quantity_is_greater_than", bool, (a, b) => compare(a, b) > 0),
    two("compareTo", "quantity_compare_to", int, compare),
  ],
};
