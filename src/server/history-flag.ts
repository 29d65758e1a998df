/** The flag `--history`: how much of the history of single objects is kept for `binnacle history` and `binnacle undelete`. */
import type { Flag, FlagGroup } from "#std/flags.ts";
import { parseGoDuration, printGoDuration } from "#std/go-duration.ts";
import { StartError } from "#std/start-error.ts";
import type { KeptHistory } from "#storage/sqlite.ts";

const units: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
/** A table of the log has up to 8 MiB, and is dropped as a whole. */
const bytesMin = 16 * 2 ** 20;
const msMin = 60_000;

const help =
  "Keeps superseded and deleted versions of objects for binnacle history and binnacle undelete: for a time, up to a size on disk, or both (24h,1GiB), whatever is less. Lists and watches go back as far as --history-duration says.";

/** A time, a size, or both, in any order: `24h,1GiB`. */
export const historyFlag = ([name, group]: readonly [string, FlagGroup]): Flag<KeptHistory | undefined> => ({
  name,
  group,
  hint: "time,size",
  help,
  default: undefined,
  print: (value) => (value === undefined ? "" : printHistory(value)),
  read: (value) => (value === "" ? undefined : readHistory(name, value)),
});

function readHistory(name: string, value: string): KeptHistory {
  const bad = (why: string): StartError =>
    new StartError(`invalid value ${JSON.stringify(value)} for --${name}: ${why}`);
  let ms: number | undefined;
  let bytes: number | undefined;
  for (const part of value.split(",").map((text) => text.trim())) {
    const size = /^(\d{1,9})(Ki|Mi|Gi|Ti)B?$/.exec(part);
    const time = size === null ? parseGoDuration(part) : undefined;
    if (size !== null && bytes === undefined) bytes = Number(size[1]) * units[size[2]!]!;
    else if (time !== undefined && ms === undefined) ms = time;
    else throw bad("must be a time, a size, or both, such as 24h,1GiB");
  }
  if (ms !== undefined && ms < msMin) throw bad("the time must be at least 1m");
  if (bytes !== undefined && bytes < bytesMin) throw bad("the size must be at least 16MiB");
  return { ms, bytes };
}

function printHistory({ ms, bytes }: KeptHistory): string {
  const time = ms === undefined ? [] : [printGoDuration(ms)];
  const size = bytes === undefined ? [] : [`${bytes / 2 ** 20}MiB`];
  return [...time, ...size].join(",");
}
