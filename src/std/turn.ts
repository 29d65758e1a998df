/**
 * Turns for everybody while something large is done. Large work is a generator that pauses between its steps; in the
 * pauses the event loop serves whoever waits. Of all large works under way one goes on per round of the loop, so that
 * many together hold up others no longer than one of them does. Small work runs through at once, without a promise.
 */
import type { Soon } from "./soon.ts";

/** Work in steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** From this size on, what is worked on is large: smaller things are done in a few milliseconds. */
export const largeBytes = 64 * 1024;

// One queue, since a process has one event loop.
const waiting: (() => void)[] = [];

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** Resolves when everybody else had a turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}

let isPausing = false;

/**
 * Whether the work that runs now has pauses. Steps on the hot path ask before they `yield`: a pause that nobody wants
 * still goes through all generators around it, and a small apply has twenty.
 */
export const pausing = (): boolean => isPausing;

/** Runs to the end without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Runs to the end, with a pause after each step. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (let step = pausingNext(steps); ; step = pausingNext(steps)) {
    if (step.done === true) return step.value;
    await turn();
  }
}

function pausingNext<T>(steps: Steps<T>): IteratorResult<undefined, T> {
  isPausing = true;
  try {
    return steps.next();
  } finally {
    isPausing = false;
  }
}

/** Runs with pauses what is large, and all else at once. */
export const paced = <T>(steps: Steps<T>, isLarge: boolean): Soon<T> => (isLarge ? inTurns(steps) : atOnce(steps));
