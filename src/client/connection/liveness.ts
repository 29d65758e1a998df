/**
 * Notices that the way to the server is dead where a connection cannot be asked: over HTTP/1.1. A request that has been
 * silent for a while causes a question over another connection; without an answer, all silent requests are given up.
 * The system's own questions (`dial.ts`) end at the nearest hop, which may be a proxy that is alive.
 */
import type { Clock } from "#std/clock.ts";

/** A request that is under way. */
export interface Watched {
  /** The time of the last sign of the server, in milliseconds of the monotonic clock. */
  readonly lastMs: number;
  /** The maximum time in milliseconds without such a sign. */
  readonly idleMs: number;
  /** Gives the request up. */
  fail(error: Error): void;
}

interface LivenessOptions {
  readonly clock: Clock;
  /** The milliseconds of silence after which the server is asked. */
  readonly silenceMs: number;
  /** The milliseconds in which it has to answer. */
  readonly probeMs: number;
  /** Resolves when the server answers, whatever it says. */
  probe(signal: AbortSignal): Promise<unknown>;
}

/** The minimum milliseconds between two checks. */
const pauseMinMs = 100;

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #watched = new Set<Watched>();
  /** The time of the last answer to a question, in milliseconds of the monotonic clock. */
  #aliveMs = -Infinity;
  #cancelTimer: (() => void) | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
  }

  /** Returns milliseconds of the monotonic clock. */
  now(): number {
    return this.#options.clock.monotonic();
  }

  add(exchange: Watched): void {
    this.#watched.add(exchange);
    this.#cancelTimer ??= this.#wait(this.#options.silenceMs);
  }

  delete(exchange: Watched): void {
    this.#watched.delete(exchange);
    if (this.#watched.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #wait(ms: number): () => void {
    return this.#options.clock.after(ms, () => void this.#check());
  }

  async #check(): Promise<void> {
    const startMs = this.now();
    const silent = this.#silent();
    if (silent.length > 0 && !(await this.#isAlive())) {
      const error = Object.assign(new Error("no sign of life"), { code: "ETIMEDOUT" });
      for (const exchange of silent) if (exchange.lastMs < startMs) exchange.fail(error);
    }
    if (this.#watched.size === 0) return;
    this.#cancelTimer?.();
    const lastMs = Math.min(...Array.from(this.#watched, (exchange) => Math.max(exchange.lastMs, this.#aliveMs)));
    this.#cancelTimer = this.#wait(Math.max(lastMs + this.#options.silenceMs - this.now(), pauseMinMs));
  }

  /** Returns the requests that have been silent for long. Those that may not be silent for so long are given up. */
  #silent(): Watched[] {
    const now = this.now();
    for (const exchange of this.#watched) {
      if (now - exchange.lastMs < exchange.idleMs) continue;
      exchange.fail(Object.assign(new Error("not even a bookmark came"), { code: "ETIMEDOUT" }));
    }
    const { silenceMs } = this.#options;
    return [...this.#watched].filter(({ lastMs }) => now - Math.max(lastMs, this.#aliveMs) >= silenceMs);
  }

  async #isAlive(): Promise<boolean> {
    const { clock, probeMs, probe } = this.#options;
    const deadline = new AbortController();
    const cancel = clock.after(probeMs, () => deadline.abort(new Error("the time is over")));
    try {
      await probe(deadline.signal);
      this.#aliveMs = this.now();
      return true;
    } catch {
      return false;
    } finally {
      cancel();
    }
  }
}
