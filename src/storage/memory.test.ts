/** Tests that the cache in memory keeps every promise of `WatchCache`. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";

import { storeContract, putText } from "./store.contract.ts";
import { DelayedLog } from "./delayed-log-for-tests.ts";
import { openMemoryLog, openMemoryStore } from "./memory.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

storeContract({ name: "memory", open: openMemoryStore, hasLog: false });

storeContract({
  name: "a log far away",
  open: (options) => LogWatchCache.open(new DelayedLog(openMemoryLog(options), seededRandom(1)), options),
  hasLog: false,
});

test("history stays within its bytes, and a deleted key leaves nothing behind", async () => {
  const cache = await openMemoryStore({ clock: new FakeClock(), historyBytesMax: 100_000 });
  for (let i = 0; i < 2000; i++) {
    const { revision } = await putText(cache, `/registry//pods/shop/${i}`, 0, "x".repeat(200));
    await cache.remove(`/registry//pods/shop/${i}`, revision);
  }
  assert(cache.statistics.historyBytes <= 100_000);
  assert(cache.statistics.valueBytes <= 100_000);
  await cache.compact(cache.revision);
  const { historyBytes, historyEvents, valueBytes } = cache.statistics;
  assert.deepEqual({ historyBytes, historyEvents, valueBytes }, { historyBytes: 0, historyEvents: 0, valueBytes: 0 });
  await cache.close();
});
