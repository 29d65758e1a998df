/**
 * Schedules of cron jobs: the five fields of cron, or a name such as `@daily`, in a time zone. Times that a change of the
 * clocks skips do not occur. Source: the rules of `robfig/cron`, which upstream uses.
 */

/** The minimum and maximum of each field, and the names of its values. */
const fields = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] },
  { min: 0, max: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
] as const;

const named: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const dayMs = 86_400_000;
/** The days after which a schedule counts as one that never occurs, such as 30 February. */
const daysMax = 5 * 366;

/** Returns the function that finds the first time of a schedule after another time; `undefined` when there is none. */
export function parseSchedule(
  text: string,
  timeZone: string | undefined,
): ((afterMs: number) => number | undefined) | undefined {
  const [minutes, hours, days, months, weekdays, ...rest] = (named[text.trim()] ?? text.trim())
    .toLowerCase()
    .split(/\s+/);
  if (weekdays === undefined || rest.length > 0) return undefined;
  const texts = [minutes!, hours!, days!, months!, weekdays];
  const sets = texts.map((field, index) => valuesOf(field, fields[index]!));
  const [minute, hour, day, month, weekday] = sets as [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>]; // of five texts
  const offset = offsetsIn(timeZone ?? "UTC");
  // With both restricted, one of them is enough.
  const isEither = !/^[*?]/.test(days!) && !/^[*?]/.test(weekdays);
  const isDay = (date: Date): boolean => {
    const [byDay, byWeekday] = [day.has(date.getUTCDate()), weekday.has(date.getUTCDay())];
    return month.has(date.getUTCMonth() + 1) && (isEither ? byDay || byWeekday : byDay && byWeekday);
  };
  return (afterMs) => {
    const firstDay = Math.floor((afterMs + offset(afterMs)) / dayMs) * dayMs;
    for (let at = firstDay; at < firstDay + daysMax * dayMs; at += dayMs) {
      if (!isDay(new Date(at))) continue;
      for (const h of [...hour].toSorted((a, b) => a - b)) {
        for (const m of [...minute].toSorted((a, b) => a - b)) {
          const wallMs = at + h * 3_600_000 + m * 60_000;
          const guessMs = wallMs - offset(wallMs);
          const ms = wallMs - offset(guessMs);
          if (ms > afterMs && ms + offset(ms) === wallMs) return ms;
        }
      }
    }
    return undefined;
  };
}

/** Returns the values of a field: `*`, `1,5-9`, a range with a step, names. */
function valuesOf(text: string, { min, max, names }: (typeof fields)[number]): Set<number> {
  const number = (word: string): number => {
    const at = (names as readonly string[]).indexOf(word);
    return at >= 0 ? at : Number(word);
  };
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const [range = "", step] = part.split("/");
    const [first = "", last] = range.split("-");
    const isAny = first === "*" || first === "?";
    const from = isAny ? min : number(first);
    const to = isAny || (last === undefined && step !== undefined) ? max : last === undefined ? from : number(last);
    for (let value = from; value <= to && value <= 59; value += Math.max(1, Number(step ?? 1))) values.add(value);
  }
  return values;
}

/** Returns the function that says by how many milliseconds the clocks of a zone are ahead of UTC at a time. */
function offsetsIn(timeZone: string): (ms: number) => number {
  if (timeZone === "UTC" || timeZone === "Etc/UTC") return () => 0;
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
  return (ms) => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
}
