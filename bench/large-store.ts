/**
 * A program that fills a data folder with ConfigMaps of 1 KB, or opens one and writes to it at a steady rate, as a process
 * of its own, whose memory is that of the store alone. `growth.bench.ts` starts it:
 *
 *     node --conditions=source bench/large-store.ts fill FOLDER COUNT
 *     node --conditions=source bench/large-store.ts open FOLDER SECONDS     prints `LargeStoreFigures` as JSON
 */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";

import { systemClock } from "#std/clock.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { toUnversioned } from "#storage/versioned-value.ts";
import type { Encoded, WatchCache } from "#storage/watch-cache.ts";

export interface LargeStoreFigures {
  readonly openMs: number;
  /** The longest time for which the event loop was held while the store was opened, and while it was written to. */
  readonly longestOpeningMs: number;
  readonly longestWritingMs: number;
  /** The memory of the process when the store was open, and after the writes, in MiB. */
  readonly openMb: number;
  readonly writtenMb: number;
  /** The CPU time of a write on the main thread, with its share of what the process does beside. */
  readonly writeCpuUs: number;
}

const batch = 1000;
const writesPerSecond = 500;
const filler = "x".repeat(900);

const keyOf = (at: number): string => `/registry//configmaps/ns-${at % 100}/${String(at).padStart(7, "0")}`;

const value = (at: number, round: number): Encoded => ({
  ...toUnversioned(
    `{"name":"${at}","round":"${round}","resourceVersion":"","data":"${filler}"}\n`,
    '"resourceVersion":"',
  ),
  decode: () => undefined,
});

const open = async (dataDir: string): Promise<WatchCache> => {
  const { cache } = await openSqliteStore({ clock: systemClock, dataDir, compactionIntervalMs: 300_000 });
  return cache;
};

async function fill(dataDir: string, count: number): Promise<void> {
  const cache = await open(dataDir);
  for (let from = 0; from < count; from += batch) {
    const writes = Array.from({ length: Math.min(batch, count - from) }, (_, i) =>
      cache.put(keyOf(from + i), 0, value(from + i, 0)),
    );
    await Promise.all(writes);
  }
  await cache.compact(cache.revision);
  await cache.close();
}

/** Returns a function that tells the longest time for which the event loop was held since the last call. */
function watchLoop(): () => number {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  return () => {
    const ms = delays.max / 1e6;
    delays.reset();
    return ms;
  };
}

const memoryMb = (): number => process.memoryUsage.rss() / 2 ** 20;

async function measure(dataDir: string, seconds: number): Promise<LargeStoreFigures> {
  const longest = watchLoop();
  await sleep(50);
  longest();
  const start = performance.now();
  const cache = await open(dataDir);
  const openMs = performance.now() - start;
  await turn();
  const longestOpeningMs = longest();
  const openMb = memoryMb();
  const count = cache.count("/registry//configmaps/");
  const before = process.threadCpuUsage();
  const writes = seconds * writesPerSecond;
  // Steps of a number that is prime to the count visit all objects, far from each other.
  const step = 7919;
  for (let at = 0; at < writes; at++) {
    const key = keyOf((at * step) % count);
    await cache.put(key, cache.get(key)!.revision, value((at * step) % count, at));
    const dueMs = ((at + 1) * 1000) / writesPerSecond;
    const aheadMs = dueMs - (performance.now() - start - openMs);
    if (aheadMs > 2) await sleep(aheadMs);
  }
  const used = process.threadCpuUsage(before);
  const longestWritingMs = longest();
  const writtenMb = memoryMb();
  await cache.close();
  const writeCpuUs = (used.user + used.system) / writes;
  return { openMs, longestOpeningMs, longestWritingMs, openMb, writtenMb, writeCpuUs };
}

if (import.meta.main) {
  const [action, folder = "", size = ""] = process.argv.slice(2);
  if (action === "fill") await fill(folder, Number(size));
  else process.stdout.write(`${JSON.stringify(await measure(folder, Number(size)))}\n`);
}
