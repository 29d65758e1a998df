/**
 * Handles decoded JSON values: their members, their numbers, and a byte budget for values that grow. Raw numbers
 * (`std/raw-number.ts`) become exact integers for code that computes with them, and plain numbers where upstream's
 * untyped decoder has these.
 */
import { isInt64 } from "#std/int64.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import type { Steps } from "#std/cooperative.ts";
import { DecodeError } from "./decode-error.ts";

/** Sets an own key with any name: a plain assignment to `__proto__` would change the prototype. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Counts the keys of all objects in `value`, its own included. Does not recurse, so deep values need no stack. */
export function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let keys = 0;
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) {
      for (const item of next) if (typeof item === "object" && item !== null) waiting.push(item);
    } else if (!isRawNumber(next)) {
      const names = Object.keys(next as object);
      keys += names.length;
      for (const name of names) {
        const item = (next as Record<string, unknown>)[name];
        if (typeof item === "object" && item !== null) waiting.push(item);
      }
    }
  }
  return keys;
}

/** Returns the nearest double. Throws `DecodeError` if it is infinite, which JSON cannot represent. */
function nearest(literal: string): number {
  const value = Number(literal);
  if (Number.isFinite(value)) return value;
  throw new DecodeError(`json: cannot unmarshal number ${literal} into Go value of type float64`);
}

/**
 * Returns `value` in the form with which the folder `apply` computes: raw numbers become `bigint` if they are 64-bit
 * integers, else the nearest double. Parts without raw numbers are shared. Throws `DecodeError` for numbers that no
 * double can represent.
 */
export const withBigInts = (value: unknown): unknown =>
  mapNumbers(value, (raw) => (isInt64(raw) ? simplest(BigInt(raw)) : nearest(raw)));

const simplest = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/**
 * Converts values of `apply` back: `bigint`s become raw numbers, which can be encoded. Throws `DecodeError` for raw
 * numbers that no double can represent.
 */
export function withRawNumbers(value: unknown): unknown {
  if (typeof value === "bigint") return rawNumber(String(value));
  if (isRawNumber(value)) nearest(value.rawJSON);
  return mapItems(value, withRawNumbers);
}

/**
 * Returns `value` with plain numbers in place of raw ones, as upstream's untyped decoder reads them: 64-bit integers
 * that are not safe stay raw, so that they are exact; other numbers become the nearest double. Parts without raw
 * numbers are shared.
 */
export const plainNumbers = (value: unknown): unknown =>
  mapNumbers(value, (raw) => {
    if (!isInt64(raw)) return nearest(raw);
    return Number.isSafeInteger(Number(raw)) ? Number(raw) : undefined;
  });

/**
 * Returns `value` with its raw numbers replaced by the results of `change`; a number for which this is `undefined`
 * stays.
 */
function mapNumbers(value: unknown, change: (literal: string) => unknown): unknown {
  if (isRawNumber(value)) return change(value.rawJSON) ?? value;
  return mapItems(value, (item) => mapNumbers(item, change));
}

/** Returns a list or object with changed members; the same one if no member changed. */
function mapItems(value: unknown, change: (item: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) {
    const items = value.map(change);
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const source = value as Record<string, unknown>;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(source)) {
    const item = source[key];
    const changed = change(item);
    if (changed === item) continue;
    copy ??= { ...source };
    setKey(copy, key, changed);
  }
  return copy ?? value;
}

/** The number of members after which others have a turn. */
const membersPerTurn = 20_000;

/**
 * Returns whether a value is longer as JSON than so many bytes. The estimate is too low for characters of several
 * bytes.
 */
export function* isLongerThan(value: unknown, bytes: number): Steps<boolean> {
  let bytesLeft = bytes;
  let members = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    bytesLeft -= lengthOf(next);
    if (bytesLeft < 0) return true;
    if (typeof next !== "object" || next === null || isRawNumber(next)) continue;
    const names = Array.isArray(next) ? undefined : Object.keys(next);
    for (const name of names ?? []) bytesLeft -= name.length + 3;
    const inner: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    for (const item of inner) {
      waiting.push(item);
      if (++members % membersPerTurn === 0) yield undefined;
    }
  }
  return bytesLeft < 0;
}

/** Returns the minimum length of a value without its members, with the comma after it. */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value === "number" || typeof value === "bigint") return 2;
  return isRawNumber(value) ? value.rawJSON.length + 1 : 3;
}

/** A byte budget for the output of a small input: additions take from it, and fail when it is empty. */
export class ByteBudget {
  #bytesLeft: number;
  readonly #refuse: () => Error;

  /** `refuse` makes the error that is thrown when more than `bytes` are taken in total. */
  constructor(bytes: number, refuse: () => Error) {
    this.#bytesLeft = bytes;
    this.#refuse = refuse;
  }

  take(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) throw this.#refuse();
  }
}
