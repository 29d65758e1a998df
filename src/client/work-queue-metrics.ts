/**
 * Metrics of work queues, with upstream's names: `workqueue_*`. What changes with each key is counted as it happens;
 * what a queue holds is read at each scrape, so that queues at rest cost nothing.
 */
import type { Clock } from "#std/clock.ts";
import type { Counter, Family, Histogram, Metrics, Sample } from "#std/metrics.ts";

/** A queue holds this. Times are of the monotonic clock, in milliseconds. */
interface QueueState {
  /** Keys that wait for a worker. */
  readonly depth: number;
  /** The times at which the work that is still going on began. */
  readonly started: Iterable<number>;
}

/** Events of a queue for each key. Durations in milliseconds. */
export interface QueueObserver {
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  done(workedMs: number): void;
  /** The queue has gone. */
  closed(): void;
}

/** Seconds; upstream's: ten steps from 10 ns, each ten times the one before. */
const buckets = Array.from({ length: 10 }, (_, step) => 1e-8 * 10 ** step);

const labels = ["name"] as const;

export class WorkQueueMetrics {
  readonly #clock: Clock;
  /** The keys are names; several queues may share one. */
  readonly #queues = new Map<string, Set<() => QueueState>>();
  readonly #adds: Family<Counter>;
  readonly #retries: Family<Counter>;
  readonly #waited: Family<Histogram>;
  readonly #worked: Family<Histogram>;

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    this.#adds = metrics.counter({
      name: "workqueue_adds_total",
      help: "Keys that were added to a work queue.",
      labels,
    });
    this.#retries = metrics.counter({ name: "workqueue_retries_total", help: "Keys that are tried again.", labels });
    this.#waited = metrics.histogram({
      name: "workqueue_queue_duration_seconds",
      help: "How long keys waited for a worker.",
      labels,
      buckets,
    });
    this.#worked = metrics.histogram({
      name: "workqueue_work_duration_seconds",
      help: "How long the work on a key took.",
      labels,
      buckets,
    });
    const observed = (name: string, help: string, value: (states: readonly QueueState[]) => number): void =>
      metrics.observable({ name, help, type: "gauge", labels }, () => this.#samples(value));
    observed("workqueue_depth", "Keys that wait for a worker.", (states) =>
      states.reduce((sum, { depth }) => sum + depth, 0),
    );
    observed("workqueue_unfinished_work_seconds", "How long all work that is going on has taken so far.", (states) =>
      this.#ages(states).reduce((sum, age) => sum + age, 0),
    );
    observed(
      "workqueue_longest_running_processor_seconds",
      "How long the work has taken so far that has been going on for longest.",
      (states) => Math.max(0, ...this.#ages(states)),
    );
  }

  /** Measures a queue; `state` is called at each scrape. */
  queue(name: string, state: () => QueueState): QueueObserver {
    const queues = this.#queues.get(name) ?? new Set();
    this.#queues.set(name, queues.add(state));
    const adds = this.#adds.with(name);
    const retries = this.#retries.with(name);
    // Made when the first key comes: most queues of most servers never have one.
    let waited: Histogram | undefined;
    let worked: Histogram | undefined;
    return {
      added: () => adds.add(),
      retried: () => retries.add(),
      started: (ms) => (waited ??= this.#waited.with(name)).observe(ms / 1000),
      done: (ms) => (worked ??= this.#worked.with(name)).observe(ms / 1000),
      closed: () => void queues.delete(state),
    };
  }

  #samples(value: (states: readonly QueueState[]) => number): Sample[] {
    return [...this.#queues].map(([name, states]) => ({
      labels: [name],
      value: value([...states].map((state) => state())),
    }));
  }

  /** Seconds. */
  #ages(states: readonly QueueState[]): number[] {
    const now = this.#clock.monotonic();
    return states.flatMap(({ started }) => [...started].map((ms) => (now - ms) / 1000));
  }
}
