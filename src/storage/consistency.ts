/**
 * Compares what memory shows with what the log holds: a digest over every live key, and the bytes of a sample. Runs
 * beside reads and writes; the digest is taken at one revision on both sides.
 */
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";

import type { Entry } from "./backend.ts";
import type { SqliteBackend } from "./sqlite.ts";

/** One sentence per difference; none when memory and log agree. */
export async function checkConsistency(backend: SqliteBackend, random: Random, sampleSize = 100): Promise<string[]> {
  const differences: string[] = [];
  const { memory, log } = await backend.digests();
  if (memory.keys !== log.keys || memory.sum !== log.sum) {
    differences.push(
      `at revision ${memory.revision} memory has ${memory.keys} keys (sum ${memory.sum}), the log ${log.keys} (sum ${log.sum})`,
    );
  }
  const sample: { readonly entry: Entry; readonly bytes: Buffer }[] = [];
  const { keys } = backend.statistics;
  for (let i = 0; i < Math.min(sampleSize, keys); i++) {
    const entry = backend.entryAt(Math.floor(random.next() * keys));
    if (entry !== undefined) sample.push({ entry, bytes: entry.value });
  }
  const logged = await backend.logged(sample.map(({ entry }) => entry.revision));
  for (const [i, { entry, bytes }] of sample.entries()) {
    const found = logged[i];
    // Replaced since, and its old version compacted: nothing to compare.
    if (found === undefined && backend.get(entry.key)?.revision !== entry.revision) continue;
    const agrees =
      found !== undefined &&
      found.key === entry.key &&
      found.created === entry.created &&
      found.expiresAt === entry.expiresAt &&
      found.value.equals(bytes);
    if (!agrees) differences.push(`key ${entry.key} differs at revision ${entry.revision}`);
  }
  return differences;
}

export interface ConsistencyWatchOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** Called when a check found differences, or could not be made. */
  readonly report: (differences: readonly string[]) => void;
}

/** Checks every `intervalMs` until the returned function is called. */
export function watchConsistency(backend: SqliteBackend, options: ConsistencyWatchOptions): () => void {
  const { clock, random, intervalMs, report } = options;
  let isStopped = false;
  let cancel: () => void = () => undefined;
  const schedule = (): void => {
    if (!isStopped) cancel = clock.after(intervalMs, () => void run());
  };
  const run = async (): Promise<void> => {
    try {
      const differences = await checkConsistency(backend, random);
      if (differences.length > 0 && !isStopped) report(differences);
    } catch (error) {
      if (!isStopped)
        report([`the check could not be made: ${error instanceof Error ? error.message : String(error)}`]);
    }
    schedule();
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
  };
}
