/**
 * Plain JSON values in this folder: read-only, shared, with `__proto__` as an ordinary member name. Hot path: plain
 * code. Integers beyond 2^53 may be `bigint`.
 */
import { isRawNumber } from "#std/raw-number.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** An object that is still being built by its only owner. */
export type DraftObject = Record<string, unknown>;

export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns an own member of an object; `undefined` when absent, never something inherited. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Whether two values are the same JSON; member order does not matter, list order does. */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return sameNumber(numberOf(left), numberOf(right));
  }
  if (isArray(left)) {
    if (!isArray(right) || left.length !== right.length) return false;
    for (let i = 0; i < left.length; i++) if (!jsonEquals(left[i], right[i])) return false;
    return true;
  }
  if (isArray(right)) return false;
  const a = left as JsonObject; // an object that is no array
  const b = right as JsonObject; // the same
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) if (!Object.hasOwn(b, name) || !jsonEquals(a[name], b[name])) return false;
  return true;
}

/** Whether two objects have the same members, without the ones that `except` names. */
export function sameMembers(left: JsonObject, right: JsonObject, except: ReadonlySet<string>): boolean {
  for (const name of Object.keys(left)) if (!except.has(name) && !jsonEquals(left[name], right[name])) return false;
  for (const name of Object.keys(right)) if (!except.has(name) && left[name] === undefined) return false;
  return true;
}

/** Reads numbers in any of their three forms. */
function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  if (!isRawNumber(value)) return undefined;
  return /^-?[0-9]+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON);
}

function sameNumber(left: number | bigint | undefined, right: number | bigint | undefined): boolean {
  return left !== undefined && right !== undefined && !(left < right) && !(left > right);
}

/** Whether no chain of objects and lists is longer than `max`. Does not recurse. */
export function isNestedAtMost(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      if (depth >= max) return false;
      for (const inner of isArray(one) ? one : Object.values(one)) {
        if (typeof inner === "object" && inner !== null) next.push(inner);
      }
    }
    level = next;
  }
  return true;
}
