/**
 * Quantiles of the values of the last hours, within two percent. Values are counted in classes, each of which is four
 * percent wider than the one before. Counts are kept by age, and the oldest ones are dropped.
 */

const growth = Math.log(1.04);
/** The lower bound of the first class; smaller values count in it. */
const smallest = 1e-7;
const classes = 600;
const ages = 5;

export class QuantileSummary {
  readonly #turnMs: number;
  /** The counts by age, the newest first. */
  #counts: readonly Uint32Array[] = [new Uint32Array(classes)];
  #turnAtMs: number | undefined;
  count = 0;
  sum = 0;

  /** `keptMs` says for how long values count at most. */
  constructor(keptMs: number) {
    this.#turnMs = keptMs / ages;
  }

  /** Counts a value some times, at a time that never goes back. */
  observe(value: number, nowMs: number, times = 1): void {
    this.#turn(nowMs);
    const at = value <= smallest ? 0 : Math.min(classes - 1, Math.floor(Math.log(value / smallest) / growth));
    this.#counts[0]![at]! += times;
    this.count += times;
    this.sum += value * times;
  }

  /** Returns the value below which this part of all values lies, from 0 to 1; NaN when there is no value. */
  quantile(part: number, nowMs: number): number {
    this.#turn(nowMs);
    const totals = Array.from({ length: classes }, (_, at) => this.#counts.reduce((sum, one) => sum + one[at]!, 0));
    const wanted = Math.max(1, Math.ceil(part * totals.reduce((sum, one) => sum + one, 0)));
    let seen = 0;
    const at = totals.findIndex((count) => (seen += count) >= wanted);
    return at < 0 ? Number.NaN : smallest * Math.exp((at + 0.5) * growth);
  }

  #turn(nowMs: number): void {
    this.#turnAtMs ??= nowMs + this.#turnMs;
    while (nowMs >= this.#turnAtMs) {
      this.#counts = [new Uint32Array(classes), ...this.#counts.slice(0, ages - 1)];
      this.#turnAtMs += this.#turnMs;
    }
  }
}
