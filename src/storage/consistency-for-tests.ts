/**
 * Compares memory with the log: a digest over all live keys, and the bytes of a sample. Runs beside reads and writes;
 * both digests are taken at one revision.
 */
import type { Random } from "#std/random.ts";

import type { SqliteStore } from "./sqlite.ts";
import { insertRevision } from "./versioned-value.ts";
import type { Entry } from "./watch-cache.ts";

/** Returns one sentence for each difference; none when memory and log agree. */
export async function checkConsistency(store: SqliteStore, random: Random, sampleSize = 100): Promise<string[]> {
  const differences: string[] = [];
  const { cache } = store;
  const memory = cache.digest;
  const log = await store.log.digest(memory.revision);
  if (memory.keys !== log.keys || memory.sum !== log.sum) {
    differences.push(
      `at revision ${memory.revision} memory has ${memory.keys} keys (sum ${memory.sum}), the log ${log.keys} (sum ${log.sum})`,
    );
  }
  const sample: { readonly entry: Entry; readonly bytes: Buffer }[] = [];
  const { entries } = cache.range("");
  for (let i = 0; i < Math.min(sampleSize, entries.length); i++) {
    const entry = entries[Math.floor(random.next() * entries.length)]!;
    sample.push({ entry, bytes: entry.value });
  }
  const logged = await store.log.entriesAt(sample.map(({ entry }) => entry.revision));
  for (const [i, { entry, bytes }] of sample.entries()) {
    const found = logged[i];
    // The entry was replaced since, and its old version compacted: there is nothing to compare.
    if (found === undefined && cache.get(entry.key)?.revision !== entry.revision) continue;
    const agrees =
      found !== undefined && found.key === entry.key && insertRevision(found.value, found.revision).equals(bytes);
    if (!agrees) differences.push(`key ${entry.key} differs at revision ${entry.revision}`);
  }
  return differences;
}
