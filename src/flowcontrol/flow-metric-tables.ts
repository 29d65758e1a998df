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
    "[BETA] Requests that priority and fairness has refused, by reason.",
    "reason",
  ),
  dispatched: ofFlow("dispatched_requests_total", "[BETA] Requests that priority and fairness has let run."),
  noRoom: ofFlow(
    "request_dispatch_no_accommodation_total",
    "How often the next request of a queue could not run, since too few seats were free.",
  ),
};

/** Gauges of a schema's current requests. */
export const presentRows = {
  executing: ofFlow(
    "current_executing_requests",
    "[BETA] Requests that hold seats now; watches hold them only while they begin.",
  ),
  executingSeats: ofFlow(
    "current_executing_seats",
    "[BETA] Seats that requests hold now; watches hold them only while they begin.",
  ),
  waiting: ofFlow("current_inqueue_requests", "[BETA] Requests that wait in queues now."),
  waitingSeats: ofFlow("current_inqueue_seats", "Seats for which requests wait in queues now."),
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

/** The former name of the seats of a level. */
const formerLimit: Row = {
  ...ofLevel("request_concurrency_limit", "Seats that a level has by its configuration."),
  deprecated: { minor: 30, stability: "alpha" },
};

export const levelRows = {
  nominal: ofLevel("nominal_limit_seats", "[BETA] Seats that a level has by its configuration."),
  concurrencyLimit: formerLimit,
  lower: ofLevel("lower_limit_seats", "Seats that a level keeps whatever it lends."),
  upper: ofLevel("upper_limit_seats", "Seats that a level has at most with what it borrows."),
  current: ofLevel("current_limit_seats", "Seats that a level has at present."),
  target: ofLevel("target_seats", "Seats that a level should have by its demand."),
  demandHigh: ofLevel("demand_seats_high_watermark", "The highest demand for seats in the last period."),
  demandAverage: ofLevel("demand_seats_average", "The mean demand for seats in the last period."),
  demandDeviation: ofLevel("demand_seats_stdev", "The standard deviation of the demand for seats in the last period."),
  demandSmoothed: ofLevel("demand_seats_smoothed", "The demand for seats, which falls slowly."),
  at: ofLevel("current_r", "Virtual time of the queues when they last changed."),
};

/** Gauges of levels with queues, as of the last dispatched request. */
export const dispatchRows = {
  at: ofLevel("dispatch_r", "Virtual time of the queues when a request last began to run."),
  latest: ofLevel("latest_s", "Virtual start of the request that began to run last."),
  next: ofLevel(
    "next_s_bounds",
    "The lowest and the highest virtual start of the requests that are first in their queues.",
    "bound",
  ),
  discounted: ofLevel(
    "next_discounted_s_bounds",
    "The same as next_s_bounds, less the work that each queue is doing.",
    "bound",
  ),
};

const seconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const histogram = (buckets: readonly number[], plain: Row): HistogramRow => ({ ...plain, buckets });

/** A histogram whose help says no stability level. */
const unstaged = (buckets: readonly number[], plain: Row): HistogramRow => ({ ...plain, buckets, isUnstaged: true });

export const histogramRows = {
  seats: histogram([1, 2, 4, 10], ofFlow("work_estimated_seats", "Seats that a request needs at most.")),
  watchers: histogram(
    [0, 1, 10, 100, 1000, 10_000],
    ofFlow("watch_count_samples", "Watches that a write has to notify."),
  ),
  ran: histogram(
    seconds,
    ofFlow(
      "request_execution_seconds",
      "Time for which requests hold seats; watches hold them only while they begin.",
      "type",
    ),
  ),
  waited: histogram(
    seconds,
    ofFlow("request_wait_duration_seconds", "[BETA] Time for which a request waits in its queue.", "execute"),
  ),
  queueLength: histogram(
    [0, 10, 25, 50, 100, 250, 500, 1000],
    ofFlow("request_queue_length_after_enqueue", "Length of its queue that each request finds, itself included."),
  ),
  seatUse: unstaged(
    [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    row("priority_level_seat_utilization", "Share of the seats of a level in use, weighted by time.", "phase", level),
  ),
  requestUse: unstaged(
    [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
    row(
      "priority_level_request_utilization",
      "Requests of a level, waiting or running, as a share of their limit, weighted by time.",
      "phase",
      level,
    ),
  ),
  kindUse: unstaged(
    [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    row(
      "read_vs_write_current_requests",
      "Reads and writes, waiting or running, as a share of their limit, weighted by time.",
      "phase",
      "request_kind",
    ),
  ),
  demand: unstaged(
    [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6],
    ofLevel(
      "demand_seats",
      "Seats that a level could use, as a share of those of its configuration, weighted by time.",
    ),
  ),
};
