/**
 * The syntax of schedules in cron jobs: five fields, or a descriptor such as `@hourly` or `@every 90m`, after an
 * optional `TZ=` or `CRON_TZ=`. Source: the syntax of `robfig/cron`, which upstream uses.
 */
import { goQuote } from "#meta/field-error.ts";
import { parseDuration } from "#std/go-duration.ts";
import { isTimeZone } from "./time-zone.ts";

interface Bounds {
  readonly min: number;
  readonly max: number;
  /** The names of the values in lower case, beginning with the name of the lowest value. */
  readonly names?: readonly string[];
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** The bounds of minute, hour, day of the month, month and day of the week. */
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
];

const descriptors = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);
const every = "@every ";

/** White space between fields, as Go defines it. */
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** Returns the error in a schedule; `undefined` for a valid one. */
export function cronScheduleError(text: string): string | undefined {
  let schedule = text;
  const zone = /^(?:CRON_)?TZ=/.exec(text);
  if (zone !== null) {
    const end = text.indexOf(" ");
    const name = text.slice(zone[0].length, end < 0 ? undefined : end);
    if (name !== "" && name !== "Local" && !isTimeZone(name)) {
      return `provided bad location ${name}: unknown time zone ${name}`;
    }
    schedule = end < 0 ? "" : text.slice(end).trim();
  }
  if (schedule.startsWith("@")) return descriptorError(schedule);
  const fields = schedule.split(spaces).filter((field) => field !== "");
  if (fields.length !== fieldBounds.length) {
    return `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`;
  }
  for (const [i, field] of fields.entries()) {
    for (const range of field.split(",")) {
      const error = range === "" ? undefined : rangeError(range, fieldBounds[i]!);
      if (error !== undefined) return error;
    }
  }
  return undefined;
}

function descriptorError(text: string): string | undefined {
  if (descriptors.has(text)) return undefined;
  if (!text.startsWith(every)) return `unrecognized descriptor: ${text}`;
  const duration = parseDuration(text.slice(every.length));
  return typeof duration === "string" ? `failed to parse duration ${text}: ${duration}` : undefined;
}

/** Returns the error in a range. Upstream: text between a star and its step is ignored. */
function rangeError(text: string, { min, max, names }: Bounds): string | undefined {
  const [range = "", step, ...steps] = text.split("/");
  const [first = "", last, ...others] = range.split("-");
  let [start, end]: [number | string, number | string] = [min, max];
  if (first !== "*" && first !== "?") {
    start = readValue(first, min, names);
    if (typeof start === "string") return start;
    end = last === undefined ? start : readValue(last, min, names);
    if (others.length > 0) return `too many hyphens: ${text}`;
    if (typeof end === "string") return end;
  }
  if (steps.length > 0) return `too many slashes: ${text}`;
  const size = step === undefined ? 1 : readInteger(step);
  if (typeof size === "string") return size;
  if (step !== undefined && last === undefined) end = max;
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${text}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return size === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

function readValue(text: string, min: number, names: readonly string[] | undefined): number | string {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  return index >= 0 ? min + index : readInteger(text);
}

/** Returns the number, or the error. */
function readInteger(text: string): number | string {
  const failed = (why: string): string =>
    `failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`;
  if (!/^[-+]?\d+$/.test(text)) return failed("invalid syntax");
  const value = Number(text);
  if (Math.abs(value) >= 2 ** 63) return failed("value out of range");
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
