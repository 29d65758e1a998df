/**
 * A queue of services whose endpoints are written. A service whose last look took long waits before the next one, so
 * that one with very many pods, which change all the time, leaves time for everything else.
 */
import type { WorkQueue } from "#client/work-queue.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { workQueue } from "../reconcile.ts";

/** How much longer than a look the pause after it is. */
const restFactor = 2;
/** Shorter pauses are not worth a timer. */
const restMinMs = 20;
const restMaxMs = 2000;
const workersMax = 5;

export interface ServiceQueueOptions {
  /** What the queue is called in metrics. */
  readonly name: string;
  /** What is logged when the work fails. */
  readonly failure: string;
  work(key: string): Promise<void>;
}

export class ServiceQueue {
  readonly #environment: ControllerEnvironment;
  readonly #queue: WorkQueue;
  /** Until when services rest, by key. */
  readonly #restUntilMs = new Map<string, number>();

  constructor(environment: ControllerEnvironment, { name, failure, work }: ServiceQueueOptions) {
    const { clock } = environment;
    this.#environment = environment;
    this.#queue = workQueue(environment, {
      name,
      workersMax,
      logKey: "service",
      failure,
      work: async (key) => {
        this.#restUntilMs.delete(key);
        const startMs = clock.monotonic();
        await work(key);
        const restMs = Math.min((clock.monotonic() - startMs) * restFactor, restMaxMs);
        if (restMs >= restMinMs) this.#restUntilMs.set(key, clock.monotonic() + restMs);
      },
    });
  }

  add(key: string): void {
    const untilMs = this.#restUntilMs.get(key);
    const restMs = untilMs === undefined ? 0 : untilMs - this.#environment.clock.monotonic();
    if (restMs > 0) this.#queue.addAfter(key, restMs);
    else this.#queue.add(key);
  }
}
