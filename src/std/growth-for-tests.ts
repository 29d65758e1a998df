/**
 * Shows in tests, on a machine of any speed and load, that work grows no faster than its input: twice the input takes
 * less than three times the CPU time. Work that is quadratic takes four times. Also shows that long work is done in
 * pieces, between which others have a turn.
 */
import assert from "node:assert/strict";
import { isLate } from "./maybe-promise.ts";

/**
 * The minimum CPU time in microseconds: shorter work is repeated, because a garbage collection takes several
 * milliseconds.
 */
const leastMicros = 40_000;
const repeatsMax = 4096;
/**
 * The maximum number of tries. The best try, or the least times of all tries, counts, since garbage collection and the
 * compiler interrupt any work.
 */
const triesMax = 5;
const growthMax = 3;

async function cpuMicros(size: number, repeats: number, work: (size: number) => unknown): Promise<number> {
  const start = process.cpuUsage();
  for (let i = 0; i < repeats; i++) {
    const done = work(size);
    if (isLate(done)) await done;
  }
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Rejects when `work` takes three times the CPU time or more with an input of twice the size. */
export async function growsInProportion(size: number, work: (size: number) => unknown): Promise<void> {
  // Code gets faster while it runs, so its first run does not show how often it must be repeated.
  let repeats = 1;
  while ((await cpuMicros(size, repeats, work)) < leastMicros && repeats < repeatsMax) repeats *= 2;
  const seen: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  let leastOfTwice = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < triesMax; tries++) {
    const ofTwice = await cpuMicros(2 * size, repeats, work);
    const once = await cpuMicros(size, repeats, work);
    leastOfTwice = Math.min(leastOfTwice, ofTwice);
    least = Math.min(least, once);
    const growth = Math.min(ofTwice / once, leastOfTwice / least);
    if (growth < growthMax) return;
    seen.push(growth);
  }
  assert.fail(`twice the input takes ${seen.map((growth) => growth.toFixed(1)).join(", ")} times the CPU`);
}

/** A loop that only waits has pieces of less CPU time than this. */
const pieceMicros = 1000;

/**
 * Returns the largest part of `work` between two turns of the event loop, from 0 to 1, by CPU time. It is 1 when other
 * work had to wait for all of it.
 */
export async function largestPiece(work: () => Promise<unknown>): Promise<number> {
  let last = process.cpuUsage();
  let whole = 0;
  let largest = 0;
  let isOver = false;
  const look = (): void => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    const piece = user + system;
    if (piece > pieceMicros) whole += piece;
    largest = Math.max(largest, piece);
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work().finally(() => (isOver = true));
  return whole === 0 ? 0 : largest / whole;
}
