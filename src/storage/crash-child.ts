/**
 * A process that writes to a store until it is killed, and prints what the store promised. `crash.test.ts` starts it
 * with a folder and a seed. Lines, printed at once:
 *
 *     open <revision>            the store is open
 *     ? put|remove <key>         a write was requested
 *     ! put|remove <key> <rev>   it was acknowledged
 *     e <type> <key> <rev>       a watcher got this event
 */
import { writeSync } from "node:fs";

import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";

import { openSqliteStore } from "./sqlite.ts";
import { toUnversioned } from "./versioned-value.ts";

const keys = 150;
const [dataDir = "", seed = "1"] = process.argv.slice(2);
const random = seededRandom(Number(seed));
// With every second seed one writer works alone.
const writers = Number(seed) % 2 === 0 ? 16 : 1;
const say = (line: string): number => writeSync(1, `${line}\n`);

const store = await openSqliteStore({
  clock: systemClock,
  dataDir,
  historyBytesMax: 200_000,
  compactionIntervalMs: 0,
  // A kill finds compaction half done, and tables of the log come and go.
  faults: { sweepRuns: 3, segmentRows: 60 },
});
say(`open ${store.cache.revision}`);
await store.cache.watch({
  prefix: "/registry//pods/",
  after: store.cache.revision,
  deliver: (events) => {
    for (const event of events) say(`e ${event.type} ${event.entry.key} ${event.revision}`);
    return true;
  },
  ended: (reason) => say(`ended ${reason}`),
});

async function write(): Promise<void> {
  for (;;) {
    const key = `/registry//pods/shop/${Math.floor(random.next() * keys)}`;
    const current = store.cache.get(key);
    const filler = "x".repeat(Math.floor(random.next() ** 4 * 20_000));
    const encoded = { ...toUnversioned(`${key}  ${filler}`, `${key} `), decode: () => undefined };
    const verb = current !== undefined && random.next() < 0.25 ? "remove" : "put";
    say(`? ${verb} ${key}`);
    const result =
      verb === "remove"
        ? await store.cache.remove(key, current!.revision)
        : await store.cache.put(key, current?.revision ?? 0, encoded);
    say(result.ok ? `! ${verb} ${key} ${result.entry.revision}` : `? lost ${key}`);
  }
}

async function compact(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => systemClock.after(20 + random.next() * 60, () => resolve(undefined)));
    await store.cache.compact(store.cache.revision - 500);
  }
}

await Promise.all([...Array.from({ length: writers }, write), compact()]);
