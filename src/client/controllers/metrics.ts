/** The metrics of controllers, with the names of controller-runtime, and of their queues, with those of client-go. */
import type { Clock } from "#std/clock.ts";
import { type Counter, type Family, type Gauge, type Histogram, Metrics } from "#std/metrics.ts";
import { waitingClock } from "../clock.ts";
import { WorkQueueMetrics } from "../work-queue-metrics.ts";

type ReconcileResult = "success" | "error" | "requeue_after";

/** Upper bounds in seconds, as upstream. */
const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

const labels = ["controller"] as const;

/** The metrics of the controllers of a process. `print` returns them in Prometheus' text format. */
export class ControllerMetrics {
  /** The metrics of the queues. */
  readonly queues: WorkQueueMetrics;
  readonly #metrics = new Metrics();
  readonly #results: Family<Counter>;
  readonly #errors: Family<Counter>;
  readonly #times: Family<Histogram>;
  readonly #active: Family<Gauge>;
  readonly #max: Family<Gauge>;

  constructor(clock: Clock = waitingClock) {
    const metrics = this.#metrics;
    this.queues = new WorkQueueMetrics(metrics, clock);
    this.#results = metrics.counter({
      name: "controller_runtime_reconcile_total",
      help: "Reconciles by their result.",
      labels: ["controller", "result"],
    });
    this.#errors = metrics.counter({
      name: "controller_runtime_reconcile_errors_total",
      help: "Reconciles that failed.",
      labels,
    });
    this.#times = metrics.histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "How long a reconcile took.",
      labels,
      buckets,
    });
    this.#active = metrics.gauge({
      name: "controller_runtime_active_workers",
      help: "Reconciles that are running.",
      labels,
    });
    this.#max = metrics.gauge({
      name: "controller_runtime_max_concurrent_reconciles",
      help: "The number of reconciles that may run at the same time.",
      labels,
    });
  }

  /** Returns all metrics, in Prometheus' text format 0.0.4. */
  print(): string {
    return this.#metrics.print();
  }

  /** Measures a controller. */
  observe(name: string, concurrency: number): ReconcileObserver {
    this.#max.with(name).set(concurrency);
    const active = this.#active.with(name);
    active.set(0);
    const errors = this.#errors.with(name);
    for (const result of ["success", "error", "requeue_after"]) this.#results.with(name, result);
    return {
      started: () => active.add(1),
      done: (result, ms) => {
        active.add(-1);
        if (result === "error") errors.add();
        this.#results.with(name, result).add();
        this.#times.with(name).observe(ms / 1000);
      },
    };
  }
}

export interface ReconcileObserver {
  started(): void;
  done(result: ReconcileResult, ms: number): void;
}
