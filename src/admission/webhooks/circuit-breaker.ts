/**
 * Remembers that a webhook gave no answer in time, so that not every request waits for it again. Only webhooks whose
 * failures are ignored have a breaker: their requests pass without them. After a pause, one request at a time waits for
 * the webhook again; if there is no answer, the next pause is twice as long.
 */
import type { Clock } from "#std/clock.ts";

const firstPauseMs = 10_000;
const pauseMsMax = 60_000;

/** The outcome of an attempt. `none`: the caller gave it up for reasons of its own. */
export type AttemptOutcome = "answered" | "timeout" | "none";

export class CircuitBreaker {
  readonly #clock: Pick<Clock, "monotonic">;
  #pauseMs = 0;
  /** The end of the pause, by the monotonic clock. */
  #pausedUntilMs = 0;
  #isTried = false;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Whether the webhook has not answered since its last timeout. */
  get isOpen(): boolean {
    return this.#pauseMs > 0;
  }

  /**
   * Begins an attempt, and returns the function that ends it with its outcome; `undefined` when the webhook must not be
   * called now.
   */
  attempt(): ((outcome: AttemptOutcome) => void) | undefined {
    if (this.isOpen && (this.#isTried || this.#clock.monotonic() < this.#pausedUntilMs)) return undefined;
    const isTrial = this.isOpen;
    if (isTrial) this.#isTried = true;
    return (outcome) => {
      if (isTrial) this.#isTried = false;
      if (outcome === "answered") this.#pauseMs = 0;
      // When many calls are made at the same time, the first one without an answer begins the pause.
      else if (outcome === "timeout" && (isTrial || !this.isOpen)) this.#pause();
    };
  }

  #pause(): void {
    this.#pauseMs = this.isOpen ? Math.min(this.#pauseMs * 2, pauseMsMax) : firstPauseMs;
    this.#pausedUntilMs = this.#clock.monotonic() + this.#pauseMs;
  }
}
