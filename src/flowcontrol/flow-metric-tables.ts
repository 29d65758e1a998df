/**
 * Names, help, labels and buckets of kube-apiserver's `apiserver_flowcontrol_*` metrics, without the ones hidden in
 * 1.32 unless they have values. (`epoch_advance_total` counts an overflow that cannot happen here.)
 */

import type { Deprecation } from "#std/metrics.ts";

export interface Row {
  /** The name without the prefix `apiserver_flowcontrol_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly deprecated?: Deprecation;
  readonly isUnstaged?: true;
}

export interface HistogramRow extends Row {
  readonly buckets: readonly number[];
}

const row = (name: string, help: string, ...labels: readonly string[]): Row => ({ name, help, labels });

/** The labels that name a priority level, and a flow schema. */
export const flow = ["priority_level", "flow_schema"] as const;
const level = "priority_level";

const ofFlow = (name: string, help: string, ...more: readonly string[]): Row => row(name, help, ...flow, ...more);
const ofLevel = (name: string, help: string, ...more: readonly string[]): Row => row(name, help, level, ...more);

export const counterRows = {
  rejected: ofFlow(
    "rejected_requests_total",
    "[BETA] Number of requests rejected by API Priority and Fairness subsystem",
    "reason",
  ),
  dispatched: ofFlow(
    "dispatched_requests_total",
    "[BETA] Number of requests executed by API Priority and Fairness subsystem",
  ),
  noRoom: ofFlow(
    "request_dispatch_no_accommodation_total",
    "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats",
  ),
};

/** Gauges of a schema's current requests. */
export const presentRows = {
  executing: ofFlow(
    "current_executing_requests",
    "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
  ),
  executingSeats: ofFlow(
    "current_executing_seats",
    "[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
  ),
  waiting: ofFlow(
    "current_inqueue_requests",
    "[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem",
  ),
  waitingSeats: ofFlow(
    "current_inqueue_seats",
    "Number of seats currently pending in queues of the API Priority and Fairness subsystem",
  ),
};

/** The former names of gauges of a schema. */
export const formerRows: Readonly<Partial<Record<keyof typeof presentRows, Row>>> = {
  executingSeats: {
    ...presentRows.executingSeats,
    name: "request_concurrency_in_use",
    help: presentRows.executingSeats.help.replace("[BETA] ", ""),
    deprecated: { minor: 31, stability: "alpha" },
  },
};

export const levelRows = {
  nominal: ofLevel(
    "nominal_limit_seats",
    "[BETA] Nominal number of execution seats configured for each priority level",
  ),
  lower: ofLevel(
    "lower_limit_seats",
    "Configured lower bound on number of execution seats available to each priority level",
  ),
  upper: ofLevel(
    "upper_limit_seats",
    "Configured upper bound on number of execution seats available to each priority level",
  ),
  current: ofLevel("current_limit_seats", "current derived number of execution seats available to each priority level"),
  target: ofLevel("target_seats", "Seat allocation targets"),
  demandHigh: ofLevel("demand_seats_high_watermark", "High watermark, over last adjustment period, of demand_seats"),
  demandAverage: ofLevel("demand_seats_average", "Time-weighted average, over last adjustment period, of demand_seats"),
  demandDeviation: ofLevel(
    "demand_seats_stdev",
    "Time-weighted standard deviation, over last adjustment period, of demand_seats",
  ),
  demandSmoothed: ofLevel("demand_seats_smoothed", "Smoothed seat demands"),
  at: ofLevel("current_r", "R(time of last change)"),
};

/** Gauges of levels with queues, as of the last dispatched request. */
export const dispatchRows = {
  at: ofLevel("dispatch_r", "R(time of last dispatch)"),
  latest: ofLevel("latest_s", "S(most recently dispatched request)"),
  next: ofLevel("next_s_bounds", "min and max, over queues, of S(oldest waiting request in queue)", "bound"),
  discounted: ofLevel(
    "next_discounted_s_bounds",
    "min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress",
    "bound",
  ),
};

const seconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const histogram = (buckets: readonly number[], plain: Row): HistogramRow => ({ ...plain, buckets });

/** A histogram whose help says no stability level. */
const unstaged = (buckets: readonly number[], plain: Row): HistogramRow => ({ ...plain, buckets, isUnstaged: true });

export const histogramRows = {
  seats: histogram(
    [1, 2, 4, 10],
    ofFlow(
      "work_estimated_seats",
      "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness",
    ),
  ),
  watchers: histogram(
    [0, 1, 10, 100, 1000, 10_000],
    ofFlow("watch_count_samples", "count of watchers for mutating requests in API Priority and Fairness"),
  ),
  ran: histogram(
    seconds,
    ofFlow(
      "request_execution_seconds",
      "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
      "type",
    ),
  ),
  waited: histogram(
    seconds,
    ofFlow("request_wait_duration_seconds", "[BETA] Length of time a request spent waiting in its queue", "execute"),
  ),
  queueLength: histogram(
    [0, 10, 25, 50, 100, 250, 500, 1000],
    ofFlow(
      "request_queue_length_after_enqueue",
      "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued",
    ),
  ),
  seatUse: unstaged(
    [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    row(
      "priority_level_seat_utilization",
      "Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)",
      "phase",
      level,
    ),
  ),
  requestUse: unstaged(
    [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
    row(
      "priority_level_request_utilization",
      "Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)",
      "phase",
      level,
    ),
  ),
  kindUse: unstaged(
    [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    row(
      "read_vs_write_current_requests",
      "Observations, at the end of every nanosecond, of the number of requests (as a fraction of the relevant limit) waiting or in regular stage of execution",
      "phase",
      "request_kind",
    ),
  ),
  demand: unstaged(
    [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
    ofLevel(
      "demand_seats",
      "Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)",
    ),
  ),
};
