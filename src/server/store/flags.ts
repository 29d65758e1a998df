/** Flags of the store: where objects are kept, their maximum size, and how long their history is kept. */
import {
  binnacleFlag,
  boolean,
  bytes,
  choice,
  duration,
  type Flag,
  deprecated,
  inert,
  integer,
  list,
  type OptionsOf,
} from "#std/flags.ts";
import { parseGoDuration, printGoDuration } from "#std/go-duration.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import type { VersionRetention } from "#storage/sqlite.ts";

const units: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
/** The minimum size of a history. A table of the log has up to 8 MiB and is dropped as a whole. */
const bytesMin = 16 * 2 ** 20;
const msMin = 60_000;

/** A duration, a size, or both, in any order: `24h,1GiB`. */
const history: Flag<VersionRetention | undefined> = {
  name: "history",
  group: "Binnacle",
  hint: "time,size",
  help: "Keeps superseded and deleted versions of objects for binnacle history and binnacle undelete: for a time, up to a size on disk, or both (24h,1GiB), whatever is less. Lists and watches go back as far as --history-duration says.",
  default: undefined,
  print: (value) => (value === undefined ? "" : printHistory(value)),
  parse: (value, refuse) => (value === "" ? undefined : parseHistory(value, refuse)),
  check(value, refuse) {
    if (value === undefined) return undefined;
    const { ms, bytes } = isObject(value) ? value : {};
    if (!isAmount(ms) || !isAmount(bytes) || (ms ?? bytes) === undefined)
      throw refuse("must have a time ms, a size bytes, or both");
    if (ms !== undefined && ms < msMin) throw refuse("the time must be at least 1m");
    if (bytes !== undefined && bytes < bytesMin) throw refuse("the size must be at least 16MiB");
    return { ms, bytes };
  },
};

const isAmount = (value: unknown): value is number | undefined => value === undefined || Number.isFinite(value);

function parseHistory(value: string, refuse: (why: string) => StartError): VersionRetention {
  let ms: number | undefined;
  let bytes: number | undefined;
  for (const part of value.split(",").map((text) => text.trim())) {
    const size = /^(\d{1,9})(Ki|Mi|Gi|Ti)B?$/.exec(part);
    const time = size === null ? parseGoDuration(part) : undefined;
    if (size !== null && bytes === undefined) bytes = Number(size[1]) * units[size[2]!]!;
    else if (time !== undefined && ms === undefined) ms = time;
    else throw refuse("must be a time, a size, or both, such as 24h,1GiB");
  }
  return { ms, bytes };
}

function printHistory({ ms, bytes }: VersionRetention): string {
  const time = ms === undefined ? [] : [printGoDuration(ms)];
  const size = bytes === undefined ? [] : [`${bytes / 2 ** 20}MiB`];
  return [...time, ...size].join(",");
}

const etcd = (name: string) => [name, "Etcd"] as const;
const minuteMs = 60_000;
const inMemory = "reads and watches always come from memory; --history-memory bounds it";

export const storeFlags = {
  storage: choice(
    binnacleFlag("storage"),
    "disk",
    ["disk", "memory"],
    "Where objects live; memory forgets them at the end.",
  ),
  historyDurationMs: duration(
    binnacleFlag("history-duration"),
    5 * minuteMs,
    "How long superseded versions stay readable and watches can resume; shorter where that is a gigabyte, or of an earlier process.",
  ),
  history,
  compactionIntervalMs: duration(
    binnacleFlag("compaction-interval"),
    5 * minuteMs,
    "How often older history is dropped; 0 for never.",
  ),
  historyMemoryBytes: bytes(
    binnacleFlag("history-memory"),
    64 * 2 ** 20,
    2 ** 20,
    "Memory for superseded versions and recent events; older ones are read from disk.",
  ),
  objectBytesMax: bytes(
    binnacleFlag("max-object-size"),
    3 * 2 ** 19,
    2 ** 16,
    "Most bytes of one stored object, as JSON; what becomes larger is refused with 413.",
  ),
  upstreamTiming: boolean(
    binnacleFlag("upstream-timing"),
    false,
    "For test suites that are tuned to etcd: 6 ms between the two writes of a deletion, and reads without a version wait until the newest write is 5 ms old. The kube-apiserver of binnacle envtest has it on.",
  ),
  watchCache: inert(boolean(etcd("watch-cache"), true, "Serve reads and watches from memory."), inMemory),
  watchCacheSizes: inert(
    list(etcd("watch-cache-sizes"), "resource[.group]#size,...", "Recent events kept per resource.", (entry) =>
      /^[a-z0-9.-]+#\d{1,9}$/.test(entry) ? undefined : "must be resource[.group]#size",
    ),
    inMemory,
  ),
  defaultWatchCacheSize: deprecated(
    inert(
      integer(
        etcd("default-watch-cache-size"),
        100,
        { min: 0, max: 1_000_000_000 },
        "Recent events kept per resource without its own size.",
      ),
      inMemory,
    ),
    "a later release of Kubernetes has no such flag",
  ),
  deleteCollectionWorkers: inert(
    integer(
      etcd("delete-collection-workers"),
      1,
      { min: 1, max: 1000 },
      "Objects a delete of a collection removes at the same time.",
    ),
    "deletions wait for nobody, and share their syncs",
  ),
};

export type StoreFlags = OptionsOf<typeof storeFlags>;

/** Throws `StartError` for a history that the store cannot keep, or that would never end. */
export function checkHistory({ history, storage, compactionIntervalMs }: StoreFlags): void {
  if (history === undefined) return;
  if (storage === "memory") {
    throw new StartError("--history needs --storage=disk: a store in memory has what --history-memory has room for");
  }
  if (compactionIntervalMs === 0) {
    throw new StartError("--history and --compaction-interval=0, which drops nothing, contradict each other");
  }
}
