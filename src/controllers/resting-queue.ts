/**
 * A queue of objects that depend on many pods, such as services and budgets. After a long reconciliation an object
 * waits before the next one, so that a large number of changing pods does not use all the time.
 */
import type { WorkQueue } from "#client/work-queue.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { type QueueOptions, workQueue } from "./reconcile.ts";

/** The length of the pause after a reconciliation, as a multiple of its duration. */
const restFactor = 2;
/** The shortest pause that is worth a timer. */
const restMinMs = 20;
const restMaxMs = 2000;

/** The number of resting keys beyond which those that have rested are removed. */
const restingMax = 1000;

interface RestingQueueOptions extends Omit<QueueOptions, "work"> {
  work(key: string): Promise<void>;
}

export class RestingQueue {
  readonly #environment: ControllerEnvironment;
  readonly #queue: WorkQueue;
  /** The times until which keys rest. */
  readonly #restUntilMs = new Map<string, number>();
  readonly #running = new Set<string>();
  /** Keys that were added during their reconciliation: they rest first. */
  readonly #again = new Set<string>();

  constructor(environment: ControllerEnvironment, { work, ...options }: RestingQueueOptions) {
    const { clock } = environment;
    this.#environment = environment;
    this.#queue = workQueue(environment, {
      ...options,
      work: async (key) => {
        this.#restUntilMs.delete(key);
        this.#running.add(key);
        const startMs = clock.monotonic();
        try {
          await work(key);
        } finally {
          const restMs = Math.min((clock.monotonic() - startMs) * restFactor, restMaxMs);
          if (restMs >= restMinMs) this.#rest(key, clock.monotonic() + restMs);
          this.#running.delete(key);
          if (this.#again.delete(key)) this.add(key);
        }
      },
    });
  }

  /** Lets a key rest. When there are many, keys that have rested are removed. */
  #rest(key: string, untilMs: number): void {
    if (this.#restUntilMs.size >= restingMax) {
      const now = this.#environment.clock.monotonic();
      for (const [other, ms] of this.#restUntilMs) if (ms <= now) this.#restUntilMs.delete(other);
    }
    this.#restUntilMs.set(key, untilMs);
  }

  add(key: string): void {
    if (this.#running.has(key)) {
      this.#again.add(key);
      return;
    }
    const untilMs = this.#restUntilMs.get(key);
    const restMs = untilMs === undefined ? 0 : untilMs - this.#environment.clock.monotonic();
    if (restMs > 0) this.#queue.addAfter(key, restMs);
    else this.#queue.add(key);
  }

  /** Adds the key after `ms` milliseconds, whether it rests or not. */
  addAfter(key: string, ms: number): void {
    this.#queue.addAfter(key, ms);
  }
}
