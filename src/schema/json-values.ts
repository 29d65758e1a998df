/**
 * Decoded JSON values: their members, their numbers, and the room for those that grow. Raw numbers (`std/raw-number.ts`)
 * become exact integers where code computes with them, and plain numbers where upstream's untyped decoder does so.
 */
import { isInt64 } from "#std/int64.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import type { Steps } from "#std/cooperative.ts";
import { DecodeError } from "./decode-error.ts";

/** Sets an own key, whatever its name: a plain assignment to `__proto__` would change the prototype. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Counts the keys of the objects inside `value`, its own included. Deep values do not deepen the stack. */
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

/** The nearest double. Throws `DecodeError` when there is none but infinity, which JSON cannot say. */
function nearest(literal: string): number {
  const value = Number(literal);
  if (Number.isFinite(value)) return value;
  throw new DecodeError(`json: cannot unmarshal number ${literal} into Go value of type float64`);
}

/**
 * `value` as the folder `apply` computes with it: raw numbers become `bigint` where they are whole and of 64 bits, else
 * the nearest double. Shares what has no raw number inside. Throws `DecodeError` for what no double holds.
 */
export const withBigInts = (value: unknown): unknown =>
  mapNumbers(value, (raw) => (isInt64(raw) ? simplest(BigInt(raw)) : nearest(raw)));

const simplest = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/**
 * The way back: `bigint`s become raw numbers, which can be encoded. Throws `DecodeError` for raw ones that no double
 * holds.
 */
export function withRawNumbers(value: unknown): unknown {
  if (typeof value === "bigint") return rawNumber(String(value));
  if (isRawNumber(value)) nearest(value.rawJSON);
  return mapItems(value, withRawNumbers);
}

/**
 * `value` with plain numbers in place of raw ones, as upstream's untyped decoder reads them: 64-bit integers stay exact
 * and raw, others become the nearest double. Parts without raw numbers are shared.
 */
export const plainNumbers = (value: unknown): unknown =>
  mapNumbers(value, (raw) => {
    if (!isInt64(raw)) return nearest(raw);
    return Number.isSafeInteger(Number(raw)) ? Number(raw) : undefined;
  });

/** `value` with the results of `change` for its raw numbers; `undefined` keeps one. */
function mapNumbers(value: unknown, change: (literal: string) => unknown): unknown {
  if (isRawNumber(value)) return change(value.rawJSON) ?? value;
  return mapItems(value, (item) => mapNumbers(item, change));
}

/** A list or object with changed members; the same one when none did change. */
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

/** Others have a turn after so many members. */
const membersPerTurn = 20_000;

/** Whether a value is longer as JSON than so many bytes; it is taken for shorter where characters take several bytes. */
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

/** Returns the length of a value by itself, with the comma after it. */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value === "number" || typeof value === "bigint") return 2;
  return isRawNumber(value) ? value.rawJSON.length + 1 : 3;
}

/** A budget for the output of a small input: additions take from it, and fail when it is empty. */
export class ByteBudget {
  #left: number;
  readonly #refuse: () => Error;

  /** `refuse` makes what is thrown when more than `bytes` are taken in all. */
  constructor(bytes: number, refuse: () => Error) {
    this.#left = bytes;
    this.#refuse = refuse;
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw this.#refuse();
  }
}
