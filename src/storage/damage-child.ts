/**
 * A process that makes a store and says what is in it: started by `damage.test.ts` with a folder, and with how it ends,
 * `close` or `kill`. The last line on its standard output is the whole `Told`.
 */
import { writeSync } from "node:fs";

import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";

import type { Revision } from "./backend.ts";
import { openSqliteBackend } from "./sqlite.ts";

/** What was acknowledged. */
export interface Told {
  readonly revision: Revision;
  readonly compacted: Revision;
  /** Key, revision and bytes of all that is current. */
  readonly entries: readonly (readonly [key: string, revision: Revision, text: string])[];
}

const [dataDir = "", end = ""] = process.argv.slice(2);
const random = seededRandom(7);
const backend = await openSqliteBackend({
  clock: systemClock,
  dataDir,
  compactionIntervalMs: 0,
  // Several tables, moved and emptied.
  faults: { segmentRows: 60 },
});
for (let i = 0; i < 900; i++) {
  const key = `/registry//pods/shop/${Math.floor(random.next() * 120)}`;
  const current = backend.get(key)?.revision ?? 0;
  const text = `${i} `.repeat(1 + Math.floor(random.next() ** 3 * 900));
  const encode = () => ({ value: Buffer.from(text), view: undefined });
  if (current > 0 && random.next() < 0.3) await backend.remove(key, current, encode);
  else await backend.put(key, current, encode);
  if (i === 700) await backend.compact(500);
}
const { revision, compactedRevision: compacted } = backend;
const entries = backend.range("").entries.map((entry) => [entry.key, entry.revision, entry.value.toString()] as const);
const told: Told = { revision, compacted, entries };
if (end === "close") await backend.close();
writeSync(1, JSON.stringify(told));
if (end === "kill") process.kill(process.pid, "SIGKILL");
