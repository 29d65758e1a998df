/** The clock of a test server: the machine's time, which a test can advance. Timers that become due then fire at once. */
import { type Clock, systemClock } from "#std/clock.ts";
import { millisecondsOf, type WaitTime } from "#std/go-duration.ts";

interface Timer {
  readonly delayMs: number;
  readonly dueMs: number;
  fire(): void;
}

export class TestClock implements Clock {
  #aheadMs = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#aheadMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const cancel = systemClock.after(delayMs, () => timer.fire());
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

  /** Whether a timer waits that was set for at most `delayMs`. */
  hasTimerWithin(delayMs: number): boolean {
    for (const timer of this.#timers) if (timer.delayMs <= delayMs) return true;
    return false;
  }

  /** Fires the timers that were set for at most `delayMs`, without advancing the time. */
  hurry(delayMs: number): void {
    const due = [...this.#timers].filter((timer) => timer.delayMs <= delayMs);
    for (const timer of due) timer.fire();
  }

  /**
   * Advances the time by `ms` milliseconds, and fires the timers that are due then, each once, as after a sleep of the
   * machine. Timers that they set count from the new time.
   */
  advance(ms: number): void {
    this.#aheadMs += ms;
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.monotonic());
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs)) timer.fire();
  }
}

/** Returns the milliseconds of a time that ends. Throws `RangeError` for others. */
export function durationMs(duration: WaitTime): number {
  const ms = millisecondsOf(duration);
  if (ms === Number.POSITIVE_INFINITY) throw new RangeError("invalid duration: it has no end");
  return ms;
}
