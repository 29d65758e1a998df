/**
 * Histograms of a changing value, weighted by how long (in nanoseconds) it had each value. Source: upstream's timing
 * ratio histograms ("observations, at the end of every nanosecond").
 *
 * Hot path: a change adds the elapsed time to one array cell. Cells become observations when metrics are read or the
 * limit of the ratio changes.
 */
import type { Histogram } from "#std/metrics.ts";
import { Demand } from "./seat-limits.ts";

/** Values below this have a cell of their own; greater ones are observed at once. */
const cellCount = 512;
const nanoseconds = (ms: number): number => Math.round(ms * 1e6);

/** A count, and the time for which it had each of its values. */
export class TimedCount {
  readonly #histogram: Histogram;
  readonly #cells: number[] = [];
  #value = 0;
  #since: number;
  #whole = 1;

  constructor(histogram: Histogram, now: number) {
    this.#histogram = histogram;
    this.#since = now;
  }

  get value(): number {
    return this.#value;
  }

  change(by: number, now: number): void {
    const ms = now - this.#since;
    this.#since = now;
    if (this.#value < cellCount) this.#cells[this.#value] = (this.#cells[this.#value] ?? 0) + ms;
    else this.#histogram.observe(this.#value / this.#whole, nanoseconds(ms));
    this.#value += by;
  }

  /** Observes the time so far. Later values are fractions of `whole`. */
  settle(now: number, whole = this.#whole): void {
    this.change(0, now);
    empty(this.#cells, (value, ms) => this.#histogram.observe(value / this.#whole, nanoseconds(ms)));
    this.#whole = whole;
  }
}

function empty(cells: number[], take: (value: number, ms: number) => void): void {
  for (let value = 0; value < cells.length; value++) {
    const ms = cells[value] ?? 0;
    if (ms === 0) continue;
    take(value, ms);
    cells[value] = 0;
  }
}

export interface LevelHistograms {
  /** Seats in use, as a fraction of those that the level may use. */
  readonly seats: Histogram;
  /** Running requests, as a fraction of the seats that the level may use. */
  readonly running: Histogram;
  /** Waiting requests, as a fraction of the slots of all queues. */
  readonly waiting: Histogram;
  /** Seats in use or waited for, as a fraction of those that the level may use. */
  readonly demand: Histogram;
}

/** The load of a level at one time. */
interface Load {
  readonly seats: number;
  readonly running: number;
  readonly waiting: number;
  readonly waitingSeats: number;
}

/** The times of all figures of one level, which change together and mostly are the same number. */
export class LevelTimes {
  readonly demand: Demand;
  readonly #histograms: LevelHistograms;
  /** Used while no request waits and all have one seat. */
  readonly #cells: number[] = [];
  #since: number;
  #seatsWhole = 1;
  #slotsWhole = 1;

  constructor(histograms: LevelHistograms, now: number) {
    this.#histograms = histograms;
    this.#since = now;
    this.demand = new Demand();
  }

  /** Records that the load was `load` until now. */
  pass(now: number, load: Load): void {
    const ms = now - this.#since;
    this.#since = now;
    const { seats } = load;
    if (load.waiting === 0 && load.running === seats && seats < cellCount) {
      this.#cells[seats] = (this.#cells[seats] ?? 0) + ms;
      if (seats > this.demand.high) this.demand.high = seats;
    } else this.#observe(ms, load);
  }

  #observe(ms: number, { seats, running, waiting, waitingSeats }: Load): void {
    this.demand.add(seats + waitingSeats, ms);
    if (ms === 0) return;
    const ns = nanoseconds(ms);
    const whole = this.#seatsWhole;
    this.#histograms.seats.observe(seats / whole, ns);
    this.#histograms.running.observe(running / whole, ns);
    this.#histograms.waiting.observe(waiting / this.#slotsWhole, ns);
    this.#histograms.demand.observe((seats + waitingSeats) / whole, ns);
  }

  /** Observes the time so far. */
  settle(now: number, load: Load): void {
    this.pass(now, load);
    empty(this.#cells, (seats, ms) => this.#observe(ms, { seats, running: seats, waiting: 0, waitingSeats: 0 }));
  }

  /** Sets the denominators of the fractions: seats, and slots in queues. */
  setWholes(now: number, load: Load, seats: number, slots: number): void {
    if (seats === this.#seatsWhole && slots === this.#slotsWhole) return;
    this.settle(now, load);
    this.#seatsWhole = seats;
    this.#slotsWhole = slots;
  }
}
