/**
 * Times on the wire: RFC 3339 in UTC, in whole seconds or with exactly six decimals. Source: upstream's `metav1.Time`
 * and `MicroTime`, and Go's `time.Parse`, whose leniency (one-digit hours, a comma before the fraction) and errors
 * clients see.
 */
import type { Clock } from "#std/clock.ts";

/** An instant: seconds since the Unix epoch and the nanoseconds after it. */
interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

/** The form of a time; `micro` has six decimals, and requires them when reading. */
export type TimeForm = "seconds" | "micro";

const layouts = { seconds: "2006-01-02T15:04:05Z07:00", micro: "2006-01-02T15:04:05.000000Z07:00" };

/** The seconds of the first instant of year 1, which means "no time" and is printed as null. */
const zeroSeconds = -62135596800;

/** Returns the instant, or an error in Go's words. */
export function parseTime(text: string, form: TimeForm = "seconds"): Instant | string {
  const reader = { rest: text };
  const bad = (rest: string, element: string): string =>
    `parsing time ${quote(text)} as ${quote(layouts[form])}: cannot parse ${quote(rest)} as ${quote(element)}`;
  const range = (what: string): string => `parsing time ${quote(text)}: ${what} out of range`;

  const year = take(reader, /^\d{4}/);
  if (year === undefined) return bad(reader.rest, "2006");
  if (take(reader, /^-/) === undefined) return bad(reader.rest, "-");
  const month = take(reader, /^\d\d/);
  if (month === undefined) return bad(reader.rest, "01");
  if (Number(month) < 1 || Number(month) > 12) return range("month");
  if (take(reader, /^-/) === undefined) return bad(reader.rest, "-");
  const day = take(reader, /^\d\d/);
  if (day === undefined) return bad(reader.rest, "02");
  if (take(reader, /^T/) === undefined) return bad(reader.rest, "T");
  const hour = take(reader, /^\d\d?/);
  if (hour === undefined) return bad(reader.rest, "15");
  if (Number(hour) > 23) return range("hour");
  if (take(reader, /^:/) === undefined) return bad(reader.rest, ":");
  const minute = take(reader, /^\d\d/);
  if (minute === undefined) return bad(reader.rest, "04");
  if (Number(minute) > 59) return range("minute");
  if (take(reader, /^:/) === undefined) return bad(reader.rest, ":");
  const second = take(reader, /^\d\d/);
  if (second === undefined) return bad(reader.rest, "05");
  if (Number(second) > 59) return range("second");
  const fraction = take(reader, form === "micro" ? /^[.,]\d{6}/ : /^[.,]\d+/);
  if (fraction === undefined && form === "micro") return bad(reader.rest, ".000000");
  const zone = take(reader, /^(?:Z|[+-]\d\d:\d\d)/);
  if (zone === undefined) return bad(reader.rest, "Z07:00");
  const zoneHour = zone === "Z" ? 0 : Number(zone.slice(1, 3));
  const zoneMinute = zone === "Z" ? 0 : Number(zone.slice(4));
  // The bounds are Go's own, each one too high.
  if (zoneHour > 24) return range("time zone offset hour");
  if (zoneMinute > 60) return range("time zone offset minute");
  if (reader.rest !== "") return `parsing time ${quote(text)}: extra text: ${quote(reader.rest)}`;
  // `Date.UTC` would interpret the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCDate() !== Number(day)) return range("day");

  const offset = (zoneHour * 60 + zoneMinute) * 60 * (zone.startsWith("-") ? -1 : 1);
  const ofDay = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  return {
    seconds: date.getTime() / 1000 + ofDay - offset,
    nanos: fraction === undefined ? 0 : Number(fraction.slice(1, 10).padEnd(9, "0")),
  };
}

function take(reader: { rest: string }, pattern: RegExp): string | undefined {
  const digits = pattern.exec(reader.rest)?.[0];
  if (digits !== undefined) reader.rest = reader.rest.slice(digits.length);
  return digits;
}

/** The length of the result of `toISOString` for years of four digits. */
const usualLength = "2026-01-31T12:00:00.000Z".length;

/**
 * Returns an instant as RFC 3339 in UTC; fractions that the form does not show are cut off. Hot path: several times for
 * every write.
 */
export function formatTime(instant: Instant, form: TimeForm = "seconds"): string {
  const text = new Date(instant.seconds * 1000).toISOString();
  const whole = text.slice(0, -".000Z".length);
  // Time zones may lead to the years -1 and 10000, which Go writes without a plus and with at least four digits.
  const time = text.length === usualLength ? whole : whole.replace(/^\+0|^(-)00/, "$1");
  const fraction = form === "micro" ? `.${String(Math.floor(instant.nanos / 1000)).padStart(6, "0")}` : "";
  return `${time}${fraction}Z`;
}

/** Returns the time `ms` after the Unix epoch, in the form of object metadata. */
export const timestampOf = (ms: number): string => formatTime({ seconds: Math.floor(ms / 1000), nanos: 0 });

/** Returns the time with microseconds, in the form of leases. */
export const microTimestamp = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  return formatTime({ seconds, nanos: Math.floor((ms - seconds * 1000) * 1e6) }, "micro");
};

/**
 * Formats the current time in the form of object metadata. Hot path: a write has several times, and the text of a
 * second is made once.
 */
export class Timestamps {
  readonly #clock: Clock;
  #second = Number.NaN;
  #text = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#text = timestampOf(second * 1000);
      this.#second = second;
    }
    return this.#text;
  }
}

/**
 * Returns the canonical text of `text`; null for the zero time. `undefined` when `text` is invalid: `parseTime` then
 * returns the error.
 */
export function canonicalTime(text: string, form: TimeForm = "seconds"): string | null | undefined {
  if (isCanonical(text, form)) return text;
  const instant = parseTime(text, form);
  if (typeof instant === "string") return undefined;
  if (instant.seconds === zeroSeconds && instant.nanos === 0) return null;
  return formatTime(instant, form);
}

/**
 * Returns a canonical time in milliseconds since the epoch, including fractions; `undefined` for an invalid text, and
 * for null, which is Go's zero time.
 */
export function timeToMs(text: string | null, form: TimeForm = "seconds"): number | undefined {
  if (text === null) return undefined;
  const instant = parseTime(text, form);
  return typeof instant === "string" ? undefined : instant.seconds * 1000 + instant.nanos / 1e6;
}

/** Returns a present time in milliseconds since the epoch: null is the zero time. */
export const momentOf = (time: string | null): number => Date.parse(time ?? "0001-01-01T00:00:00Z");

/** The milliseconds of 400 years, after which the calendar repeats itself. */
const cycleMs = 146_097 * 86_400_000;

/**
 * Returns the seconds since the epoch of a text that begins with a date and a time as `2026-01-02T03:04:05`; NaN for
 * another text. It takes a third of the time of `Date.parse`; Tables and protobuf need it for each object.
 */
export function leadingSeconds(text: string): number {
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T" || text[13] !== ":" || text[16] !== ":") return Number.NaN;
  const month = pairAt(text, 5);
  const day = pairAt(text, 8);
  const hour = pairAt(text, 11);
  const minute = pairAt(text, 14);
  const second = pairAt(text, 17);
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 60))
    return Number.NaN;
  // `Date.UTC` would interpret the years 0 to 99 as 1900 to 1999.
  const year = pairAt(text, 0) * 100 + pairAt(text, 2) + 400;
  return (Date.UTC(year, month - 1, day, hour, minute, second) - cycleMs) / 1000;
}

/** Returns the number of two digits; NaN for other characters. */
function pairAt(text: string, at: number): number {
  const high = text.charCodeAt(at) - 48;
  const low = text.charCodeAt(at + 1) - 48;
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? high * 10 + low : Number.NaN;
}

/**
 * Whether the text has the canonical form and valid numbers. The last days of short months and the zero time are left
 * to the parser.
 */
function isCanonical(text: string, form: TimeForm): boolean {
  const length = form === "micro" ? 27 : 20;
  if (text.length !== length || text.charCodeAt(length - 1) !== 90) return false;
  for (let at = 0; at < length - 1; at++) {
    const code = text.charCodeAt(at);
    const wanted = at === 4 || at === 7 ? 45 : at === 10 ? 84 : at === 13 || at === 16 ? 58 : at === 19 ? 46 : 0;
    if (wanted === 0 ? code < 48 || code > 57 : code !== wanted) return false;
  }
  const two = (at: number): number => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
  const month = two(5);
  const day = two(8);
  if (month < 1 || month > 12 || day < 1 || day > 28) return false;
  return two(11) < 24 && two(14) < 60 && two(17) < 60 && (two(0) > 0 || two(2) > 1);
}

/** Quotes a text as Go's time package does: bytes that are not printable ASCII in hexadecimal. */
function quote(text: string): string {
  let out = '"';
  for (const byte of Buffer.from(text)) {
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte >= 0x7f) out += `\\x${byte.toString(16).padStart(2, "0")}`;
    else out += String.fromCharCode(byte);
  }
  return `${out}"`;
}
