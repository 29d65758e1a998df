/**
 * Integers of 64 bits as decoded objects hold them: a JavaScript number up to 2^53, beyond that the raw number of the
 * text (`raw-number.ts`). Do not compare or add raw numbers with JavaScript's operators, which throw or convert them to
 * strings.
 */
import { isRawNumber, rawNumber, type RawNumber } from "./raw-number.ts";

export type Int64 = number | RawNumber;

/** Whether the literal of a number is a whole number of 64 bits. */
export const isInt64 = (literal: string): boolean =>
  /^-?[0-9]{1,19}$/.test(literal) && BigInt.asIntN(64, BigInt(literal)) === BigInt(literal);

/** Returns the nearest double: exact up to 2^53, and with the same sign and order beyond. */
export const nearestNumber = (value: Int64): number => (isRawNumber(value) ? Number(value.rawJSON) : value);

/** Returns `value`, which must be whole, as an exact integer. */
export const bigIntOf = (value: Int64): bigint => BigInt(isRawNumber(value) ? value.rawJSON : value);

/** Returns `value` modulo 64 bits: a sum that is too large wraps around, as in Go. */
export function int64Of(value: bigint): Int64 {
  const wrapped = BigInt.asIntN(64, value);
  const number = Number(wrapped);
  return Number.isSafeInteger(number) ? number : rawNumber(String(wrapped));
}
