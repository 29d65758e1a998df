/**
 * Keys waiting to be worked on: each at most once in line, never two workers on one key, failures retried with a
 * growing pause. Source: the idea of upstream's work queue.
 */
import type { Clock } from "#std/clock.ts";

const retryMinMs = 20;
const retryMaxMs = 30_000;

export class WorkQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #clock: Clock;
  readonly #failed: (key: string, error: unknown) => void;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  /** Keys added again while they were worked on. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, () => void>();
  readonly #workersMax: number;
  #closed = false;

  constructor(options: {
    readonly work: (key: string) => Promise<void>;
    readonly clock: Clock;
    readonly workersMax: number;
    readonly failed: (key: string, error: unknown) => void;
  }) {
    this.#work = options.work;
    this.#clock = options.clock;
    this.#workersMax = options.workersMax;
    this.#failed = options.failed;
  }

  add(key: string): void {
    if (this.#closed) return;
    if (this.#running.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#waiting.add(key);
    this.#start();
  }

  /** Adds the key after a pause; an earlier pause for the same key is replaced. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    this.#timers.get(key)?.();
    this.#timers.set(
      key,
      this.#clock.after(ms, () => {
        this.#timers.delete(key);
        this.add(key);
      }),
    );
  }

  #start(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#workersMax) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      if (!this.#closed) {
        const failures = (this.#failures.get(key) ?? 0) + 1;
        this.#failures.set(key, failures);
        this.#failed(key, error);
        this.addAfter(key, Math.min(retryMinMs * 2 ** (failures - 1), retryMaxMs));
      }
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    if (!this.#closed) this.#start();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
