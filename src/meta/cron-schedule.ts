/**
 * Schedules of cron jobs: five fields, or a descriptor such as `@hourly` or `@every 90m`, after an optional `TZ=` or
 * `CRON_TZ=`; their errors, and their times. Source: the syntax of `robfig/cron`, which upstream uses.
 */
import { parseDuration } from "#std/go-duration.ts";
import { goQuote } from "./field-error.ts";
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

const descriptors: Readonly<Record<string, string | undefined>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const every = "@every ";

/** White space between fields, as Go defines it. */
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** The values of a field. `isAny` says that it is a star. */
interface Field {
  readonly values: ReadonlySet<number>;
  readonly isAny: boolean;
}

interface Schedule {
  /** The time zone that the text names. */
  readonly zone: string | undefined;
  /** The milliseconds from one time to the next; `undefined` for five fields. */
  readonly everyMs: number | undefined;
  readonly fields: readonly Field[];
}

/** Returns the error in a schedule; `undefined` for a valid one. */
export function cronScheduleError(text: string): string | undefined {
  const schedule = parseSchedule(text);
  return typeof schedule === "string" ? schedule : undefined;
}

/** Returns the schedule, or the error in it. */
function parseSchedule(text: string): Schedule | string {
  const prefix = /^(?:CRON_)?TZ=/.exec(text);
  if (prefix === null) return parseTimes(text, undefined);
  const end = text.indexOf(" ");
  const zone = text.slice(prefix[0].length, end < 0 ? undefined : end);
  if (zone !== "" && zone !== "Local" && !isTimeZone(zone)) {
    return `provided bad location ${zone}: unknown time zone ${zone}`;
  }
  return parseTimes(end < 0 ? "" : text.slice(end).trim(), zone === "" || zone === "Local" ? undefined : zone);
}

function parseTimes(text: string, zone: string | undefined): Schedule | string {
  if (text.startsWith(every)) {
    const duration = parseDuration(text.slice(every.length));
    if (typeof duration === "string") return `failed to parse duration ${text}: ${duration}`;
    // Upstream: parts of seconds do not count, and a second is the least.
    return { zone, everyMs: Math.max(1, Math.floor(Number(duration) / 1e9)) * 1000, fields: [] };
  }
  const meaning = text.startsWith("@") ? descriptors[text] : text;
  if (meaning === undefined) return `unrecognized descriptor: ${text}`;
  const parts = meaning.split(spaces).filter((part) => part !== "");
  if (parts.length !== fieldBounds.length) {
    return `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`;
  }
  const fields: Field[] = [];
  for (const [i, part] of parts.entries()) {
    const field = parseField(part, fieldBounds[i]!);
    if (typeof field === "string") return field;
    fields.push(field);
  }
  return { zone, everyMs: undefined, fields };
}

function parseField(text: string, bounds: Bounds): Field | string {
  const values = new Set<number>();
  let isAny = false;
  for (const part of text.split(",")) {
    if (part === "") continue;
    const range = parseRange(part, bounds);
    if (typeof range === "string") return range;
    isAny ||= range.isAny;
    for (let value = range.start; value <= range.end; value += range.step) values.add(value);
  }
  return { values, isAny };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isAny: boolean;
}

/** Returns a range, or the error in it. Upstream: text between a star and its step is ignored. */
function parseRange(text: string, { min, max, names }: Bounds): Range | string {
  const [range = "", stepText, ...steps] = text.split("/");
  const [first = "", last, ...others] = range.split("-");
  const isStar = first === "*" || first === "?";
  let [start, end]: [number | string, number | string] = [min, max];
  if (!isStar) {
    start = readValue(first, min, names);
    if (typeof start === "string") return start;
    end = last === undefined ? start : readValue(last, min, names);
    if (others.length > 0) return `too many hyphens: ${text}`;
    if (typeof end === "string") return end;
  }
  if (steps.length > 0) return `too many slashes: ${text}`;
  const step = stepText === undefined ? 1 : readInteger(stepText);
  if (typeof step === "string") return step;
  if (stepText !== undefined && last === undefined) end = max;
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${text}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return step === 0
    ? `step of range should be a positive number: ${text}`
    : { start, end, step, isAny: isStar && step === 1 };
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

/** The times of a schedule. */
interface CronTimes {
  /** Returns the first time after another one; `undefined` when there is none within five years. */
  next(afterMs: number): number | undefined;
  /** Returns the last time after `sinceMs` that is not after `nowMs`; `undefined` when there is none. */
  last(sinceMs: number, nowMs: number): number | undefined;
}

interface CronPlace {
  /** The time zone of a text that names none; default: UTC. */
  readonly timeZone: string | undefined;
  /** The time from which intervals are counted. */
  readonly startMs: number;
}

/**
 * Returns the times of a schedule; `undefined` for one that is not valid. Times that a change of the clocks skips do not
 * occur, and those that it repeats occur twice.
 */
export function cronTimes(text: string, { timeZone, startMs }: CronPlace): CronTimes | undefined {
  const schedule = parseSchedule(text);
  if (typeof schedule === "string") return undefined;
  const { everyMs, fields, zone = timeZone ?? "UTC" } = schedule;
  const next =
    everyMs === undefined
      ? nextOf(fields, offsetsIn(zone))
      : (afterMs: number) => startMs + (Math.floor((afterMs - startMs) / everyMs) + 1) * everyMs;
  return { next, last: (sinceMs, nowMs) => lastTime(next, sinceMs, nowMs) };
}

const [secondMs, minuteMs, hourMs, weekMs] = [1000, 60_000, 3_600_000, 604_800_000];
/** The steps after which a schedule counts as one that never occurs; those that do occur take some hundreds. */
const stepsMax = 10_000;

/** One of the units that are looked at from the months down to the seconds. */
interface Unit {
  matches(wall: Date): boolean;
  /** Returns the beginning of the unit in which a time is. */
  begin(ms: number, wall: Date): number;
  /** Returns a time in the unit that follows. */
  following(ms: number, wall: Date): number;
  /** Whether larger units have to be looked at again, since a time is in the first of its units. */
  isFirst(wall: Date): boolean;
}

/**
 * Upstream: the steps are those of `SpecSchedule.Next` in `robfig/cron`, so that jobs run when they do in Kubernetes. They
 * go by instants: hours that occur twice have their runs twice, whether a star or a number names them. Near a midnight
 * that does not occur, or a change of half an hour, they leave out times, or let one of the day before pass.
 */
function nextOf(fields: readonly Field[], offset: (ms: number) => number): CronTimes["next"] {
  const wallOf = (ms: number): Date => new Date(ms + offset(ms));
  const units = unitsOf(fields, (wallMs) => wallMs - offset(wallMs - offset(wallMs)), wallOf);
  return (afterMs) => {
    let ms = (Math.floor(afterMs / secondMs) + 1) * secondMs;
    let wall = wallOf(ms);
    const lastYear = wall.getUTCFullYear() + 5;
    let hasBegun = false;
    for (let step = 0, at = 0; step < stepsMax; step++) {
      const unit = units[at];
      // The steps may lead back in a zone that has crossed the date line, where a whole day occurs twice.
      if (unit === undefined) return ms > afterMs ? ms : undefined;
      if (unit.matches(wall)) {
        at++;
        continue;
      }
      if (!hasBegun) ms = unit.begin(ms, wall);
      hasBegun = true;
      ms = unit.following(ms, wallOf(ms));
      wall = wallOf(ms);
      if (unit.isFirst(wall)) at = 0;
      if (at === 0 && wall.getUTCFullYear() > lastYear) return undefined;
    }
    return undefined;
  };
}

/** Returns the units from the largest on. `msOf` returns the time at which clocks show another one, or a time close to it. */
function unitsOf(
  fields: readonly Field[],
  msOf: (wallMs: number) => number,
  wallOf: (ms: number) => Date,
): readonly Unit[] {
  const [minutes, hours, days, months, weekdays] = fields as [Field, Field, Field, Field, Field]; // as they are parsed
  const begin = (wall: Date, day: number, hour: number): number =>
    msOf(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), day, hour));
  /** Returns the same time of the clocks, some months and days later. */
  const later = (wall: Date, monthCount: number, dayCount: number): number => {
    const date = new Date(wall);
    date.setUTCMonth(wall.getUTCMonth() + monthCount, wall.getUTCDate() + dayCount);
    return msOf(date.getTime());
  };
  return [
    {
      matches: (wall) => months.values.has(wall.getUTCMonth() + 1),
      begin: (_ms, wall) => begin(wall, 1, 0),
      following: (_ms, wall) => later(wall, 1, 0),
      isFirst: (wall) => wall.getUTCMonth() === 0,
    },
    {
      matches(wall) {
        const [byDay, byWeekday] = [days.values.has(wall.getUTCDate()), weekdays.values.has(wall.getUTCDay())];
        // With both restricted, one of them is enough.
        return days.isAny || weekdays.isAny ? byDay && byWeekday : byDay || byWeekday;
      },
      begin: (_ms, wall) => begin(wall, wall.getUTCDate(), 0),
      following(_ms, wall) {
        const ms = later(wall, 0, 1);
        const hour = wallOf(ms).getUTCHours();
        return ms + (hour > 12 ? 24 - hour : -hour) * hourMs;
      },
      isFirst: (wall) => wall.getUTCDate() === 1,
    },
    {
      matches: (wall) => hours.values.has(wall.getUTCHours()),
      begin: (_ms, wall) => begin(wall, wall.getUTCDate(), wall.getUTCHours()),
      following: (ms) => ms + hourMs,
      isFirst: (wall) => wall.getUTCHours() === 0,
    },
    {
      matches: (wall) => minutes.values.has(wall.getUTCMinutes()),
      begin: (ms) => Math.floor(ms / minuteMs) * minuteMs,
      following: (ms) => ms + minuteMs,
      isFirst: (wall) => wall.getUTCMinutes() === 0,
    },
    {
      matches: (wall) => wall.getUTCSeconds() === 0,
      begin: (ms) => ms,
      following: (ms) => (Math.floor(ms / minuteMs) + 1) * minuteMs,
      isFirst: () => true,
    },
  ];
}

/** Looks back by times that grow, so that a long pause costs few steps. */
function lastTime(next: CronTimes["next"], sinceMs: number, nowMs: number): number | undefined {
  const first = next(sinceMs);
  if (first === undefined || first > nowMs) return undefined;
  for (let backMs = 60_000; ; backMs *= 2) {
    let last: number | undefined;
    for (let at = next(Math.max(sinceMs, nowMs - backMs)); at !== undefined && at <= nowMs; at = next(at)) last = at;
    if (last !== undefined) return last;
  }
}

/** Returns the function that says by how many milliseconds the clocks of a zone are ahead of UTC at a time. */
function offsetsIn(timeZone: string): (ms: number) => number {
  if (timeZone === "UTC" || timeZone === "Etc/UTC" || timeZone === "Factory") return () => 0;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const offsetAt = (ms: number): number => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
  // To ask takes long, and no zone changes its clocks back and forth within a week.
  let [week, first, last] = [Number.NaN, 0, 0];
  return (ms) => {
    const asked = Math.floor(ms / weekMs);
    if (asked !== week) [week, first, last] = [asked, offsetAt(asked * weekMs), offsetAt((asked + 1) * weekMs)];
    return first === last ? first : offsetAt(ms);
  };
}
