/**
 * A process that makes a store and prints its content. `damage.test.ts` starts it with a folder and the way in which it
 * ends, `close` or `kill`. The last line of its output is the whole `Told`.
 */
import { writeSync } from "node:fs";

import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";

import type { Revision } from "./log-store.ts";
import { openSqliteStore } from "./sqlite.ts";
import { withoutRevision } from "./versioned-value.ts";

/** The acknowledged state of the store. */
export interface Told {
  readonly revision: Revision;
  readonly compacted: Revision;
  /** Key, revision and bytes of all current entries. */
  readonly entries: readonly (readonly [key: string, revision: Revision, text: string])[];
}

const [dataDir = "", end = ""] = process.argv.slice(2);
const random = seededRandom(7);
const store = await openSqliteStore({
  clock: systemClock,
  dataDir,
  compactionIntervalMs: 0,
  // The log gets several tables, whose rows are moved and emptied.
  faults: { segmentRows: 60 },
});
for (let i = 0; i < 900; i++) {
  const key = `/registry//pods/shop/${Math.floor(random.next() * 120)}`;
  const current = store.cache.get(key)?.revision ?? 0;
  const text = `${i} `.repeat(1 + Math.floor(random.next() ** 3 * 900));
  const encoded = { ...withoutRevision(Buffer.from(text)), decode: () => undefined };
  if (current > 0 && random.next() < 0.3) await store.cache.remove(key, current);
  else await store.cache.put(key, current, encoded);
  if (i === 700) await store.cache.compact(500);
}
const { revision, compactedRevision: compacted } = store.cache;
const entries = store.cache
  .range("")
  .entries.map((entry) => [entry.key, entry.revision, entry.value.toString()] as const);
const told: Told = { revision, compacted, entries };
if (end === "close") await store.cache.close();
writeSync(1, JSON.stringify(told));
if (end === "kill") process.kill(process.pid, "SIGKILL");
