/** Lists of indexes of an indexed job, such as `1,3-5`, in ascending order and below the number of completions. */
import { goQuote } from "./field-error.ts";

type Range = readonly [first: number, last: number];

/** Returns how many indexes a list names, or the error in it. An empty list names none. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let count = 0;
  let previous: number | undefined;
  for (const fragment of text.split(",")) {
    const range = readRange(fragment, completions);
    if (typeof range === "string") return range;
    const [first, last] = range;
    if (previous !== undefined && previous >= first) return disorder(previous, first);
    count += last - first + 1;
    previous = last;
  }
  return count;
}

/** Returns the first index that both lists name, if both are in order. Invalid ranges are ignored. */
export function commonIndex(text: string, other: string, completions: number): number | undefined {
  const ranges = rightRanges(other, completions);
  let at = 0;
  for (const [first, last] of rightRanges(text, completions)) {
    while (at < ranges.length && ranges[at]![1] < first) at++;
    const range = ranges[at];
    if (range !== undefined && range[0] <= last) return Math.max(first, range[0]);
  }
  return undefined;
}

/** Returns a list with indexes that it may have already. What is not right in it is ignored. */
export function addIndexes(text: string, indexes: readonly number[], completions: number): string {
  const added = indexes.filter((index) => index >= 0 && index < completions).map((index): Range => [index, index]);
  const joined: [first: number, last: number][] = [];
  for (const [first, last] of [...rightRanges(text, completions), ...added].toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}

/** Returns the lowest indexes that a list lacks, `count` at most. */
export function absentIndexes(text: string, completions: number, count: number): number[] {
  const absent: number[] = [];
  const ranges = [...rightRanges(text, completions), [completions, completions] as const];
  for (const [at, [first]] of ranges.entries()) {
    const start = at === 0 ? 0 : ranges[at - 1]![1] + 1;
    for (let index = start; index < first && absent.length < count; index++) absent.push(index);
  }
  return absent;
}

const rightRanges = (text: string, completions: number): readonly Range[] =>
  text
    .split(",")
    .map((fragment) => readRange(fragment, completions))
    .filter((range) => typeof range !== "string");

/** Returns an index or a range of indexes, or the error in the text. */
function readRange(fragment: string, completions: number): Range | string {
  const limits = fragment.split("-");
  if (limits.length > 2) {
    const rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
    return `the fragment ${goQuote(fragment)} ${rule}`;
  }
  const [first = 0, last = first] = limits.map(readInteger);
  for (const [i, limit] of [first, last].entries()) {
    const shown = goQuote(limits[i] ?? fragment);
    if (Number.isNaN(limit)) return `cannot convert string to integer for index: ${shown}`;
    if (limit >= completions) return `too large index: ${shown}`;
  }
  return limits.length === 2 && first >= last ? disorder(first, last) : [first, last];
}

const disorder = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;

/** Returns the number in a text, which may have a sign as in Go; NaN if the text is not an integer of 64 bits. */
function readInteger(text: string): number {
  if (!/^[-+]?\d+$/.test(text)) return Number.NaN;
  const value = Number(text);
  return Math.abs(value) < 2 ** 63 ? value : Number.NaN;
}
