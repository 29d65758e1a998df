/** The pause before a process is started again: it grows while the process ends soon after its start. */
import type { Clock } from "#std/clock.ts";

const shortestMs = 100;
const longestMs = 10_000;

export class RestartPause {
  readonly #clock: Clock;
  #beganMs = 0;
  #pauseMs = shortestMs;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the process was started. */
  began(): void {
    this.#beganMs = this.#clock.monotonic();
  }

  /** Returns the pause in milliseconds, for a process that has just ended. */
  next(): number {
    // One that lived for longer than the longest pause did not end at once.
    if (this.#clock.monotonic() - this.#beganMs > longestMs) this.#pauseMs = shortestMs;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, longestMs);
    return pauseMs;
  }
}
