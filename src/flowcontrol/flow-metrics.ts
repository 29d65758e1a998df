/** The metrics of priority and fairness. */
import type { Counter, Family, Gauge, Histogram, Metrics, Sample } from "#std/metrics.ts";
import { type LevelHistograms, TimedCount } from "./busy-times.ts";
import {
  counterRows,
  dispatchRows,
  flow,
  formerRows,
  type HistogramRow,
  histogramRows,
  levelRows,
  presentRows,
  type Row,
} from "./flow-metric-tables.ts";

/** The gauges of a schema, by row. */
type Present = Record<keyof typeof presentRows, number>;

/** Counters of one schema's requests in one level, looked up once. */
export interface Counters extends Present {
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
  countRefusal(reason: string): void;
}

export type LevelGauges = Readonly<Record<keyof typeof levelRows, Gauge>>;

/** The times at which requests begin in the virtual service of a level, in seconds of a seat. */
export interface DispatchFigures extends QueueBounds {
  readonly at: number;
  readonly latest: number;
}

/** Bounds over all queues with waiting requests. */
export interface QueueBounds {
  readonly nextMin: number;
  readonly nextMax: number;
  readonly discountedMin: number;
  readonly discountedMax: number;
}

/** The times of requests of one kind, reads or writes, in all levels. */
export interface KindTimes {
  readonly executing: TimedCount;
  readonly waiting: TimedCount;
}

/** The levels and schemas in labels; their metrics are dropped together with them. */
interface NamedFlows {
  hasLevel(name: string): boolean;
  hasSchema(name: string): boolean;
  /** Called when metrics were dropped: the gauges of deleted levels and schemas must not be kept. */
  dropped(): void;
}

const prefix = "apiserver_flowcontrol_";
const kinds = ["readOnly", "mutating"] as const;

export class FlowMetrics {
  readonly #metrics: Metrics;
  readonly #tallies = new Map<string, Counters>();
  readonly #counters: Readonly<Record<keyof typeof counterRows, Family<Counter>>>;
  readonly #histograms: Readonly<Record<keyof typeof histogramRows, Family<Histogram>>>;
  readonly #levelGauges: Readonly<Record<keyof typeof levelRows, Family<Gauge>>>;
  readonly #dispatchGauges: Readonly<Record<keyof typeof dispatchRows, Family<Gauge>>>;
  readonly fairFraction: Gauge;
  #flows: NamedFlows | undefined;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    const droppable = <T extends Row>(row: T) => ({
      ...prefixed(row),
      isThere: (values: readonly string[]) => this.#isThere(row, values),
      dropped: () => this.#dropped(),
    });
    const gauge = (row: Row): Family<Gauge> => metrics.gauge(droppable(row));
    this.#counters = families(counterRows, (row) => metrics.counter(droppable(row)));
    this.#histograms = families(histogramRows, (row: HistogramRow) => metrics.histogram(droppable(row)));
    this.#levelGauges = families(levelRows, gauge);
    this.#dispatchGauges = families(dispatchRows, gauge);
    this.fairFraction = gauge({
      name: "seat_fair_frac",
      help: "Share of its demand that each level gets where seats are short.",
      labels: [],
    }).with();
    for (const [figure, row] of [...Object.entries(presentRows), ...Object.entries(formerRows)]) {
      this.#present(row, figure as keyof Present); // its keys
    }
  }

  /** Drops the metrics of deleted levels and schemas, from now on. */
  follow(flows: NamedFlows): void {
    this.#flows = flows;
  }

  #isThere({ labels }: Row, values: readonly string[]): boolean {
    if (this.#flows === undefined) return true;
    const [level, schema] = flow.map((label) => values[labels.indexOf(label)]);
    return (
      (level === undefined || this.#flows.hasLevel(level)) && (schema === undefined || this.#flows.hasSchema(schema))
    );
  }

  #dropped(): void {
    for (const [key, { level, schema }] of this.#tallies) {
      if (this.#flows?.hasLevel(level) !== true || !this.#flows.hasSchema(schema)) this.#tallies.delete(key);
    }
    this.#flows?.dropped();
  }

  /** Adds a callback that updates figures before they are shown. */
  beforePrint(callback: () => void): void {
    this.#metrics.beforePrint(callback);
  }

  level(level: string): LevelGauges {
    return families(levelRows, (_row, key) => this.#levelGauges[key].with(level));
  }

  /** Shows the figures of the last request that a level with queues dispatched. */
  showDispatch(level: string, figures: DispatchFigures): void {
    const { at, latest, next, discounted } = this.#dispatchGauges;
    at.with(level).set(figures.at);
    latest.with(level).set(figures.latest);
    next.with(level, "min").set(figures.nextMin);
    next.with(level, "max").set(figures.nextMax);
    discounted.with(level, "min").set(figures.discountedMin);
    discounted.with(level, "max").set(figures.discountedMax);
  }

  levelHistograms(level: string): LevelHistograms {
    const { seatUse, requestUse, demand } = this.#histograms;
    return {
      seats: seatUse.with("executing", level),
      running: requestUse.with("executing", level),
      waiting: requestUse.with("waiting", level),
      demand: demand.with(level),
    };
  }

  /** Returns the times of reads, and of writes. */
  kinds(now: number): readonly [reads: KindTimes, writes: KindTimes] {
    const { kindUse } = this.#histograms;
    const of = (kind: string): KindTimes => ({
      executing: new TimedCount(kindUse.with("executing", kind), now),
      waiting: new TimedCount(kindUse.with("waiting", kind), now),
    });
    const both = [of(kinds[0]), of(kinds[1])] as const;
    this.#metrics.observable(
      {
        name: "apiserver_current_inqueue_requests",
        help: "Requests that wait now, reads and writes apart.",
        labels: ["request_kind"],
        type: "gauge",
      },
      () => both.map(({ waiting }, index): Sample => ({ labels: [kinds[index]!], value: waiting.value })),
    );
    return both;
  }

  tally(level: string, schema: string): Counters {
    const key = `${level}/${schema}`;
    const existing = this.#tallies.get(key);
    if (existing !== undefined) return existing;
    const { rejected, dispatched, noRoom } = this.#counters;
    const { seats, watchers, ran, waited, queueLength } = this.#histograms;
    const tally: Counters = {
      level,
      schema,
      dispatched: dispatched.with(level, schema),
      noRoom: noRoom.with(level, schema),
      seats: seats.with(level, schema),
      watchers: watchers.with(level, schema),
      ran: ran.with(level, schema, "regular"),
      ranWatch: ran.with(level, schema, "watch"),
      waited: waited.with(level, schema, "true"),
      waitedInVain: waited.with(level, schema, "false"),
      queueLength: queueLength.with(level, schema),
      countRefusal: (reason) => rejected.with(level, schema, reason).add(),
      executing: 0,
      executingSeats: 0,
      waiting: 0,
      waitingSeats: 0,
    };
    if (this.#tallies.size >= talliesMax) this.#forgetIdle();
    this.#tallies.set(key, tally);
    return tally;
  }

  /** Drops idle schemas, so that deleted ones are not shown for ever. */
  #forgetIdle(): void {
    for (const [key, { executingSeats, waiting }] of this.#tallies) {
      if (executingSeats === 0 && waiting === 0) this.#tallies.delete(key);
    }
  }

  #present(row: Row, figure: keyof Present): void {
    this.#metrics.observable({ ...prefixed(row), type: "gauge" }, () =>
      [...this.#tallies.values()].map(
        (tally): Sample => ({ labels: [tally.level, tally.schema], value: tally[figure] }),
      ),
    );
  }
}

const talliesMax = 1000;

const prefixed = <T extends Row>(row: T): T => ({ ...row, name: prefix + row.name });

/** Something for each row of a table, under the same keys. */
function families<Table extends Readonly<Record<string, Row>>, T>(
  table: Table,
  make: (row: Table[keyof Table], key: keyof Table) => T,
): Readonly<Record<keyof Table, T>> {
  const all = Object.entries(table) as [keyof Table, Table[keyof Table]][];
  return Object.fromEntries(all.map(([key, row]) => [key, make(row, key)])) as Record<keyof Table, T>; // one each
}
