/**
 * Handles timestamps and durations: their texts, their arithmetic with its limits, and the fields of a date in a time
 * zone. Source: RFC 3339, and Go's texts of durations.
 */
import { parseDuration } from "#std/go-duration.ts";
import { CelError, Duration, Timestamp } from "../values.ts";
import { plainText } from "./numbers.ts";
import { remember } from "./remember.ts";

const second = 1_000_000_000n;
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;
const nanosecondsMin = secondsMin * second;
const nanosecondsMax = secondsMax * second + second - 1n;
const durationMax = 2n ** 63n - 1n;
const durationMin = -(2n ** 63n);

const timestampOverflow = (): CelError => new CelError("timestamp overflow");
const durationOverflow = (): CelError => new CelError("integer overflow");

/** Returns a timestamp; an error outside of the years 1 to 9999. */
export const timestampOf = (nanoseconds: bigint, offsetSeconds = 0): Timestamp | CelError =>
  nanoseconds < nanosecondsMin || nanoseconds > nanosecondsMax
    ? timestampOverflow()
    : new Timestamp(nanoseconds, offsetSeconds);

/** Returns a duration; an error if the nanoseconds do not fit 64 bits, which is 292 years. */
export const durationOf = (nanoseconds: bigint): Duration | CelError =>
  nanoseconds < durationMin || nanoseconds > durationMax ? durationOverflow() : new Duration(nanoseconds);

/** Returns the time from `b` to `a`. */
export const timeBetween = (a: Timestamp, b: Timestamp): Duration | CelError =>
  durationOf(a.nanoseconds - b.nanoseconds);

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();

/** Parses an RFC 3339 time. Returns `undefined` for other texts, an error for years outside of 1 to 9999. */
export function parseTimestamp(text: string): Timestamp | CelError | undefined {
  // A year of five or more digits is out of range.
  if (/^\d{5,9}-\d{2}-\d{2}T/.test(text)) return undefined;
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, seconds] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]; // the six groups are not optional
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || seconds > 59) return undefined;
  const zoneHours = Number(match[9] ?? 0);
  const zoneMinutes = Number(match[10] ?? 0);
  if (zoneHours > 24 || zoneMinutes > 60) return undefined;
  // `Date.UTC` reads years below 100 as years of the last century, so this code adds 400 years before and subtracts
  // them after.
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, seconds) - 400 * 365.2425 * 86_400_000;
  const offset = (zoneHours * 3600 + zoneMinutes * 60) * (match[8] === "-" ? -1 : 1);
  const fraction = BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return timestampOf((BigInt(ms) / 1000n - BigInt(offset)) * second + fraction, offset);
}

const floor = (value: bigint, by: bigint): bigint => (value - (((value % by) + by) % by)) / by;

/** Returns the RFC 3339 text in the zone in which the timestamp was written, without trailing zeros of the fraction. */
export function timestampText(timestamp: Timestamp): string {
  const seconds = floor(timestamp.nanoseconds, second);
  const nanoseconds = timestamp.nanoseconds - seconds * second;
  const { offsetSeconds } = timestamp;
  const date = new Date((Number(seconds) + offsetSeconds) * 1000);
  const fraction = nanoseconds === 0n ? "" : `.${String(nanoseconds).padStart(9, "0").replace(/0+$/, "")}`;
  return `${date.toISOString().replace(/\.\d{3}Z$/, "")}${fraction}${offsetText(offsetSeconds)}`;
}

function offsetText(seconds: number): string {
  if (seconds === 0) return "Z";
  const minutes = Math.abs(seconds) / 60;
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${seconds < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/**
 * Reads a duration as Go writes it, such as `1h30m`, `-1.5s` or `0`. Returns `undefined` for other texts, and for more
 * than 292 years.
 */
export function readDuration(text: string): Duration | undefined {
  const nanoseconds = parseDuration(text);
  return typeof nanoseconds === "string" ? undefined : new Duration(nanoseconds);
}

/** Returns the text of a duration in seconds, such as `1.5s`. */
export const durationText = (duration: Duration): string => `${plainText(secondsOf(duration))}s`;

function secondsOf({ nanoseconds }: Duration): number {
  return Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9;
}

/** Returns a date whose UTC fields are those that a clock in the zone shows at this time. */
const shiftToOffset = (timestamp: Timestamp, offsetSeconds: number): Date =>
  new Date(Number(floor(timestamp.nanoseconds, 1_000_000n)) + offsetSeconds * 1000);

const formatOf = remember(
  200,
  (zone) =>
    new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    }),
);

/** Returns the offset of a zone at this time, in seconds east of UTC; `undefined` for an unknown zone. */
function offsetIn(zone: string, timestamp: Timestamp): number | undefined {
  if (zone === "" || zone === "UTC" || zone === "Local") return 0;
  const seconds = Number(floor(timestamp.nanoseconds, second));
  // Intl also accepts offsets, and names in any case, which are not zone names here.
  if (!/^[A-Z][A-Za-z0-9_+/-]{0,63}$/.test(zone)) return undefined;
  let parts: Intl.DateTimeFormatPart[];
  try {
    parts = formatOf(zone).formatToParts(new Date(seconds * 1000));
  } catch {
    return undefined;
  }
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? "0";
  const year = part("era") === "BC" ? 1 - Number(part("year")) : Number(part("year"));
  const [month, day, hour] = [Number(part("month")), Number(part("day")), Number(part("hour"))];
  const there = Date.UTC(year + 400, month - 1, day, hour, Number(part("minute")), Number(part("second")));
  return (there - 400 * 365.2425 * 86_400_000) / 1000 - seconds;
}

/** Returns the date of a timestamp in a zone. The zone is a name (`Europe/Zurich`) or an offset (`+02:00`, `02:00`). */
export function dateIn(timestamp: Timestamp, zone: string): Date | CelError {
  const fixed = /^([+-]?)(\d{1,9}):(\d{1,9})$/.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    const date = shiftToOffset(timestamp, minutes * (fixed[1] === "-" ? -60 : 60));
    return Number.isNaN(date.getTime()) ? timestampOverflow() : date;
  }
  const offset = offsetIn(zone, timestamp);
  return offset === undefined ? new CelError(`unknown time zone ${zone}`) : shiftToOffset(timestamp, offset);
}

/** The functions that return the fields of a date, by name. */
export const dateFields: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: (date) =>
    Math.round(
      (Date.UTC(2000 + (date.getUTCFullYear() % 400), date.getUTCMonth(), date.getUTCDate()) -
        Date.UTC(2000 + (date.getUTCFullYear() % 400), 0, 1)) /
        86_400_000,
    ),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

/** The functions of durations with these names. Each returns the whole duration in a unit, rounded toward zero. */
export const durationFields: Readonly<Record<string, (duration: Duration) => number>> = {
  getHours: ({ nanoseconds }) => Number(nanoseconds / (3600n * second)),
  getMinutes: ({ nanoseconds }) => Number(nanoseconds / (60n * second)),
  getSeconds: ({ nanoseconds }) => Number(nanoseconds / second),
  getMilliseconds: ({ nanoseconds }) => Number(nanoseconds / 1_000_000n),
};
