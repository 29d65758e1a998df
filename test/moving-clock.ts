/** A real-time clock for running servers that tests can advance. Timers that become due then fire at once. */
import { type Clock, systemClock } from "#std/clock.ts";
import { patienceMs } from "./client.ts";

interface Timer {
  readonly delayMs: number;
  readonly dueMs: number;
  fire(): void;
}

export class MovingClock implements Clock {
  #aheadMs = 0;
  readonly #heldMs: number | undefined;
  readonly #timers = new Set<Timer>();

  /** Timers with the delay `heldMs` fire only when the time is advanced. */
  constructor(heldMs?: number) {
    this.#heldMs = heldMs;
  }

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#aheadMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const isHeld = delayMs === this.#heldMs;
    const cancel = isHeld ? () => undefined : systemClock.after(delayMs, () => timer.fire());
    const timer: Timer = {
      delayMs,
      dueMs: this.monotonic() + delayMs,
      fire: () => {
        cancel();
        if (this.#timers.delete(timer)) callback();
      },
    };
    this.#timers.add(timer);
    return () => {
      cancel();
      this.#timers.delete(timer);
    };
  }

  /**
   * Returns the number of waiting timers with about this delay. The time until a deadline is shorter than the delay, on
   * a busy machine by much; a rounded time may be longer by a millisecond.
   */
  countWaiting(delayMs: number): number {
    return [...this.#timers].filter((timer) => timer.delayMs > 0.9 * delayMs && timer.delayMs <= delayMs + 1).length;
  }

  /** Resolves when `count` timers with this delay wait. Rejects when this takes too long. */
  async untilWaiting(delayMs: number, count = 1): Promise<void> {
    for (const endMs = systemClock.now() + patienceMs; this.countWaiting(delayMs) !== count; ) {
      if (systemClock.now() > endMs) throw new Error(`${this.countWaiting(delayMs)} wait ${delayMs} ms, not ${count}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Advances the time and fires the timers that are due. Timers that are set meanwhile wait for the next call. */
  advance(ms: number): void {
    this.#aheadMs += ms;
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.monotonic());
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs)) timer.fire();
  }
}
