/**
 * Shows in tests that work grows no faster than its input, on a machine of any speed and load: twice the input takes
 * less than three times the CPU time. Work that is quadratic takes four times.
 */
import assert from "node:assert/strict";

/** Less than this is repeated until it can be compared. */
const leastMicros = 10_000;
const repeatsMax = 1000;
/** The collector of garbage and the compiler interrupt any work; the best of these counts. */
const triesMax = 3;
const growthMax = 3;

async function cpuMicros(size: number, repeats: number, work: (size: number) => unknown): Promise<number> {
  const start = process.cpuUsage();
  for (let i = 0; i < repeats; i++) {
    const done = work(size);
    if (done instanceof Promise) await done;
  }
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Rejects when `work` takes three times the CPU time or more with an input of twice the size. */
export async function growsInProportion(size: number, work: (size: number) => unknown): Promise<void> {
  // The first time pays for compilation.
  await cpuMicros(size, 1, work);
  const onceMicros = await cpuMicros(size, 1, work);
  const repeats = Math.min(Math.ceil(leastMicros / Math.max(onceMicros, 1)), repeatsMax);
  const seen: number[] = [];
  for (let tries = 0; tries < triesMax; tries++) {
    const growth = (await cpuMicros(2 * size, repeats, work)) / (await cpuMicros(size, repeats, work));
    if (growth < growthMax) return;
    seen.push(growth);
  }
  assert.fail(`twice the input takes ${seen.map((growth) => growth.toFixed(1)).join(", ")} times the CPU`);
}
