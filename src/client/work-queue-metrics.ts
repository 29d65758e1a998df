/**
 * Metrics of work queues, with upstream's names: `workqueue_*`. Events of keys are counted as they happen; the content
 * of a queue is read at each scrape, so that idle queues cost nothing.
 */
import type { Clock } from "#std/clock.ts";
import type { Counter, Family, Histogram, Metrics, Sample } from "#std/metrics.ts";

/** The content of a queue. Times are of the monotonic clock, in milliseconds. */
interface QueueState {
  /** The number of keys that wait for a worker. */
  readonly depth: number;
  /** The times at which the running work began. */
  readonly started: Iterable<number>;
}

/** Events of a queue for each key. Durations in milliseconds. */
export interface QueueObserver {
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  done(workedMs: number): void;
  /** Called when the queue is closed. */
  closed(): void;
}

/** Upper bounds in seconds, as upstream: ten steps from 10 ns, each ten times the previous one. */
const buckets = Array.from({ length: 10 }, (_, step) => 1e-8 * 10 ** step);

const labels = ["name"] as const;

export class WorkQueueMetrics {
  readonly #clock: Clock;
  /** Queues by name; several queues may share a name. */
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
    // The histogram is made for the first key, since most queues of most servers never have one.
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

  /** Returns the ages of running work in seconds. */
  #ages(states: readonly QueueState[]): number[] {
    const now = this.#clock.monotonic();
    return states.flatMap(({ started }) => [...started].map((ms) => (now - ms) / 1000));
  }
}
