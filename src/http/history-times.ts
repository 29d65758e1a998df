/** Moments in requests for the history: a time, or a version of the store. */
import { badRequest } from "#meta/status-error.ts";
import { parseTime } from "#meta/time.ts";
import type { Revision } from "#storage/log-store.ts";

/** A version, or a time in milliseconds since the epoch. */
export type Moment = { readonly revision: Revision } | { readonly ms: number };

/** Reads a parameter; `undefined` when it is absent or empty. Throws `badRequest`. */
export function momentOf(query: URLSearchParams, parameter: string): Moment | undefined {
  const text = query.get(parameter) ?? "";
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const time = parseTime(text);
  if (typeof time === "string") {
    throw badRequest(
      `${parameter}: ${JSON.stringify(text)} is neither a version nor a time such as 2026-01-31T12:00:00Z`,
    );
  }
  return { ms: time.seconds * 1000 + Math.floor(time.nanos / 1_000_000) };
}

/**
 * Whether an event took place at a moment or before, as far as its time says; `undefined` for an event without one. Times
 * of objects are whole seconds.
 */
export function isUpTo(time: string | undefined, ms: number): boolean | undefined {
  return time === undefined ? undefined : Date.parse(time) <= ms;
}
