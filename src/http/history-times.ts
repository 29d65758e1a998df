/** Moments in requests for the history: a time, or a version of the store. */
import { badRequest } from "#meta/status-error.ts";
import { parseTime } from "#meta/time.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import type { Revision } from "#storage/log-store.ts";

/** A version, or a time in milliseconds since the epoch. */
export type Moment = { readonly revision: Revision } | { readonly ms: number };

/** Reads a parameter; `undefined` when it is absent or empty. Times like `10m` lie before `nowMs`. Throws `badRequest`. */
export function momentOf(query: URLSearchParams, parameter: string, nowMs: number): Moment | undefined {
  const text = query.get(parameter) ?? "";
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const agoMs = agoOf(text);
  if (agoMs !== undefined) return { ms: nowMs - agoMs };
  const time = parseTime(text);
  if (typeof time === "string") {
    throw badRequest(
      `${parameter}: ${JSON.stringify(text)} is neither a version nor a time such as 10m or 2026-01-31T12:00:00Z`,
    );
  }
  return { ms: time.seconds * 1000 + Math.floor(time.nanos / 1_000_000) };
}

/** Returns the milliseconds of a time like `10m`, `1h30m` or `2d`; `undefined` for other texts. */
function agoOf(text: string): number | undefined {
  const [, days, rest = ""] = /^(?:(\d{1,5})d)?([0-9.hmsuµn]*)$/.exec(text) ?? [];
  const restMs = rest === "" ? 0 : parseGoDuration(rest);
  if (restMs === undefined || (days === undefined && rest === "")) return undefined;
  return Number(days ?? 0) * 24 * 60 * 60 * 1000 + restMs;
}

/**
 * Whether an event took place at a moment or before, as far as its time says; `undefined` for an event without one. Times
 * of objects are whole seconds.
 */
export function isUpTo(time: string | undefined, ms: number): boolean | undefined {
  return time === undefined ? undefined : Date.parse(time) <= ms;
}
