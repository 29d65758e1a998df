/**
 * Cooperative scheduling of long work on the event loop. The work asks its `Pace` between two pieces and pauses when a
 * pause is due. In each turn of the loop only one long job continues, so that many together delay other requests no
 * longer than one.
 */

import type { Clock } from "./clock.ts";

/** How long a piece of long work may last before others have a turn. */
const pieceMs = 4;

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

/** When long work should pause. */
export class Pace {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Whether others have waited long enough: then `await pause()`. */
  get isDue(): boolean {
    return this.#clock.monotonic() - this.#since >= pieceMs;
  }

  async pause(): Promise<void> {
    await turn();
    this.#since = this.#clock.monotonic();
  }
}
