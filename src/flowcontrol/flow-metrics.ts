/** What is counted about flows, under kube-apiserver's metric names, types, buckets and labels. */
import type { Counter, Family, Gauge, Histogram, Metrics, Sample } from "#std/metrics.ts";

/** Counters of one schema's requests in one level, looked up once. */
export interface Tally {
  readonly level: string;
  readonly schema: string;
  readonly dispatched: Counter;
  readonly noRoom: Counter;
  readonly seats: Histogram;
  readonly watchers: Histogram;
  readonly ran: Histogram;
  readonly ranWatch: Histogram;
  readonly waited: Histogram;
  readonly waitedInVain: Histogram;
  readonly queueLength: Histogram;
  refused(reason: string): void;
  /** At present. */
  executing: number;
  executingSeats: number;
  waiting: number;
  waitingSeats: number;
}

export interface LevelGauges {
  readonly concurrency: Gauge;
  readonly nominal: Gauge;
  readonly lower: Gauge;
  readonly upper: Gauge;
  readonly current: Gauge;
  readonly target: Gauge;
  readonly demandHigh: Gauge;
  readonly demandAverage: Gauge;
  readonly demandDeviation: Gauge;
  readonly demandSmoothed: Gauge;
}

const durationBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const name = (rest: string): string => `apiserver_flowcontrol_${rest}`;
const both = ["priority_level", "flow_schema"];

export class FlowMetrics {
  readonly #metrics: Metrics;
  readonly #tallies = new Map<string, Tally>();
  readonly #rejected: Family<Counter>;
  readonly #dispatched: Family<Counter>;
  readonly #noRoom: Family<Counter>;
  readonly #seats: Family<Histogram>;
  readonly #watchers: Family<Histogram>;
  readonly #ran: Family<Histogram>;
  readonly #waited: Family<Histogram>;
  readonly #queueLength: Family<Histogram>;
  readonly #gauges: Readonly<Record<keyof LevelGauges, Family<Gauge>>>;
  readonly fairFraction: Gauge;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    const counter = (rest: string, help: string, labels: readonly string[]) =>
      metrics.counter({ name: name(rest), help, labels });
    const histogram = (rest: string, help: string, labels: readonly string[], buckets: readonly number[]) =>
      metrics.histogram({ name: name(rest), help, labels, buckets });
    const gauge = (rest: string, help: string) => metrics.gauge({ name: name(rest), help, labels: ["priority_level"] });
    this.#rejected = counter(
      "rejected_requests_total",
      "Number of requests rejected by API Priority and Fairness subsystem",
      [...both, "reason"],
    );
    this.#dispatched = counter(
      "dispatched_requests_total",
      "Number of requests executed by API Priority and Fairness subsystem",
      both,
    );
    this.#noRoom = counter(
      "request_dispatch_no_accommodation_total",
      "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats",
      both,
    );
    this.#seats = histogram(
      "work_estimated_seats",
      "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness",
      both,
      [1, 2, 4, 10],
    );
    this.#watchers = histogram(
      "watch_count_samples",
      "count of watchers for mutating requests in API Priority and Fairness",
      both,
      [0, 1, 10, 100, 1000, 10_000],
    );
    this.#ran = histogram(
      "request_execution_seconds",
      "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
      [...both, "type"],
      durationBuckets,
    );
    this.#waited = histogram(
      "request_wait_duration_seconds",
      "Length of time a request spent waiting in its queue",
      [...both, "execute"],
      durationBuckets,
    );
    this.#queueLength = histogram(
      "request_queue_length_after_enqueue",
      "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued",
      both,
      [0, 10, 25, 50, 100, 250, 500, 1000],
    );
    this.#gauges = {
      // Upstream: an older name of the next.
      concurrency: gauge(
        "request_concurrency_limit",
        "Nominal number of execution seats configured for each priority level",
      ),
      nominal: gauge("nominal_limit_seats", "Nominal number of execution seats configured for each priority level"),
      lower: gauge(
        "lower_limit_seats",
        "Configured lower bound on number of execution seats available to each priority level",
      ),
      upper: gauge(
        "upper_limit_seats",
        "Configured upper bound on number of execution seats available to each priority level",
      ),
      current: gauge(
        "current_limit_seats",
        "current derived number of execution seats available to each priority level",
      ),
      target: gauge("target_seats", "Seat allocation targets"),
      demandHigh: gauge("demand_seats_high_watermark", "High watermark, over last adjustment period, of demand_seats"),
      demandAverage: gauge(
        "demand_seats_average",
        "Time-weighted average, over last adjustment period, of demand_seats",
      ),
      demandDeviation: gauge(
        "demand_seats_stdev",
        "Time-weighted standard deviation, over last adjustment period, of demand_seats",
      ),
      demandSmoothed: gauge("demand_seats_smoothed", "Smoothed seat demands"),
    };
    this.fairFraction = metrics
      .gauge({
        name: name("seat_fair_frac"),
        help: "Fair fraction of server's concurrency to allocate to each priority level that can use it",
      })
      .with();
    this.#present("current_executing_requests", "executing", "requests in execution");
    this.#present("current_executing_seats", "executingSeats", "seats that requests in execution take");
    // Upstream: an older name of the same.
    this.#present("request_concurrency_in_use", "executingSeats", "seats that requests in execution take");
    this.#present("current_inqueue_requests", "waiting", "requests that wait in queues");
    this.#present("current_inqueue_seats", "waitingSeats", "seats that requests in queues wait for");
  }

  level(level: string): LevelGauges {
    return Object.fromEntries(
      Object.entries(this.#gauges).map(([key, family]) => [key, family.with(level)]),
    ) as unknown as LevelGauges; // the same keys
  }

  tally(level: string, schema: string): Tally {
    const key = `${level}/${schema}`;
    const known = this.#tallies.get(key);
    if (known !== undefined) return known;
    const tally: Tally = {
      level,
      schema,
      dispatched: this.#dispatched.with(level, schema),
      noRoom: this.#noRoom.with(level, schema),
      seats: this.#seats.with(level, schema),
      watchers: this.#watchers.with(level, schema),
      ran: this.#ran.with(level, schema, "regular"),
      ranWatch: this.#ran.with(level, schema, "watch"),
      waited: this.#waited.with(level, schema, "true"),
      waitedInVain: this.#waited.with(level, schema, "false"),
      queueLength: this.#queueLength.with(level, schema),
      refused: (reason) => this.#rejected.with(level, schema, reason).add(),
      executing: 0,
      executingSeats: 0,
      waiting: 0,
      waitingSeats: 0,
    };
    if (this.#tallies.size >= talliesMax) this.#forgetIdle();
    this.#tallies.set(key, tally);
    return tally;
  }

  /** Schemas come and go: what nobody uses is not shown any more. */
  #forgetIdle(): void {
    for (const [key, { executing, waiting }] of this.#tallies) {
      if (executing === 0 && waiting === 0) this.#tallies.delete(key);
    }
  }

  #present(rest: string, figure: "executing" | "executingSeats" | "waiting" | "waitingSeats", what: string): void {
    this.#metrics.observed(
      { name: name(rest), help: `Number of ${what} in API Priority and Fairness`, type: "gauge", labels: both },
      () =>
        [...this.#tallies.values()].map(
          (tally): Sample => ({ labels: [tally.level, tally.schema], value: tally[figure] }),
        ),
    );
  }
}

const talliesMax = 1000;
