/** Waiting in programs that are no tests, and so cannot use `harness.ts`. */
import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 120_000;

/** Repeats `work` until it does not throw. Throws its last error after two minutes. */
export async function until<T>(work: () => Promise<T> | T, everyMs = 50): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += everyMs) {
    try {
      return await work();
    } catch (error) {
      if (waitedMs > patienceMs) throw error;
      await sleep(everyMs);
    }
  }
}
