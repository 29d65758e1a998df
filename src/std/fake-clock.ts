/** A `Clock` that stands still until a test advances it. */
import type { Clock } from "./clock.ts";
import { Heap } from "./heap.ts";

interface Timer {
  readonly at: number;
  /** The number of timers before it. */
  readonly order: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

export class FakeClock implements Clock {
  #now: number;
  /** The time for which the machine was suspended. */
  #suspendedMs = 0;
  #count = 0;
  readonly #timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now + this.#suspendedMs;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { at: this.#now + delayMs, order: this.#count++, callback, isCancelled: false };
    this.#timers.push(timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  /** Moves time forward as a busy event loop does: due callbacks are called late, at the end. */
  block(ms: number): void {
    this.#now += ms;
    const due: Timer[] = [];
    for (let timer = this.#take(this.#now); timer !== undefined; timer = this.#take(this.#now)) due.push(timer);
    for (const { callback } of due) callback();
  }

  /** Moves the time of day forward and nothing else, as for a machine that is suspended. */
  suspend(ms: number): void {
    this.#suspendedMs += ms;
  }

  /** Moves time forward, and calls due callbacks in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.advanceToNext(end));
    this.#now = end;
  }

  /** Moves time forward to the next callback, if it is due by `end`, and calls it. Returns whether there was one. */
  advanceToNext(end = Number.POSITIVE_INFINITY): boolean {
    const next = this.#take(end);
    if (next === undefined) return false;
    this.#now = Math.max(this.#now, next.at);
    next.callback();
    return true;
  }

  /** Removes and returns the next timer that is due by `end`. */
  #take(end: number): Timer | undefined {
    for (let next = this.#timers.peek(); next !== undefined && next.at <= end; next = this.#timers.peek()) {
      this.#timers.pop();
      if (!next.isCancelled) return next;
    }
    return undefined;
  }
}
