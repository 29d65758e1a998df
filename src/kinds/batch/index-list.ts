/** Lists of indexes of an indexed job, `1,3-5`: in ascending order, below the number of completions. */
import { goQuote } from "#meta/field-error.ts";

/** How many indexes a list names, or what is wrong with it. An empty one names none. */
export function countIndexes(text: string, completions: number): number | string {
  let count = 0;
  const wrong = readIndexes(text, completions, (first, last) => {
    count += last - first + 1;
  });
  return wrong ?? count;
}

/** The first index that both lists name. What comes after a mistake in a list does not count. */
export function commonIndex(text: string, other: string, completions: number): number | undefined {
  const ranges: (readonly [first: number, last: number])[] = [];
  readIndexes(other, completions, (first, last) => ranges.push([first, last]));
  let common: number | undefined;
  let at = 0;
  readIndexes(text, completions, (first, last) => {
    while (at < ranges.length && ranges[at]![1] < first) at++;
    const range = ranges[at];
    if (range !== undefined && range[0] <= last) common ??= Math.max(first, range[0]);
  });
  return common;
}

/** Reads ranges until the first mistake, which it returns. */
function readIndexes(
  text: string,
  completions: number,
  onRange: (first: number, last: number) => void,
): string | undefined {
  if (text === "") return undefined;
  let previous: number | undefined;
  for (const range of text.split(",")) {
    const limits = range.split("-");
    if (limits.length > 2) {
      const rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
      return `the fragment ${goQuote(range)} ${rule}`;
    }
    const [first = 0, last = first] = limits.map(readInteger);
    for (const [i, limit] of [first, last].entries()) {
      const shown = goQuote(limits[i] ?? range);
      if (Number.isNaN(limit)) return `cannot convert string to integer for index: ${shown}`;
      if (limit >= completions) return `too large index: ${shown}`;
    }
    if (limits.length === 2 && first >= last) return disorder(first, last);
    if (previous !== undefined && previous >= first) return disorder(previous, first);
    onRange(first, last);
    previous = last;
  }
  return undefined;
}

const disorder = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;

/** As Go reads it: a sign is allowed; NaN for what is no integer of 64 bits. */
function readInteger(text: string): number {
  if (!/^[-+]?\d+$/.test(text)) return Number.NaN;
  const value = Number(text);
  return Math.abs(value) < 2 ** 63 ? value : Number.NaN;
}
