/**
 * The `Retry-After` of refused requests: doubles while refusals continue, and falls by a second when they stop. Source:
 * upstream's `dropped_requests_tracker`.
 */

const secondsMax = 32;

export class RetryAfter {
  #seconds = 1;
  #changedAt = 0;
  #now = 0;
  #count = 0;
  /** The numbers of refusals in past seconds, oldest first; at most `secondsMax` and one entries. */
  #history: { readonly second: number; readonly count: number }[] = [];

  get seconds(): number {
    return this.#seconds;
  }

  /** Counts a refusal in this second. */
  countRefusal(second: number): void {
    if (second === this.#now) {
      this.#count++;
      return;
    }
    this.#history.push({ second: this.#now, count: this.#count });
    const windowSeconds = Math.min(2 * this.#seconds, secondsMax);
    this.#history = this.#history.filter((entry) => second - entry.second <= windowSeconds);
    this.#now = second;
    this.#count = 1;
    this.#adjust(second);
  }

  #adjust(second: number): void {
    const recent = this.#history
      .filter((entry) => second - entry.second <= this.#seconds)
      .reduce((sum, entry) => sum + entry.count, 0);
    if (second - this.#changedAt >= this.#seconds && recent >= 3 * this.#seconds) {
      this.#seconds = Math.min(2 * this.#seconds, secondsMax);
      this.#changedAt = second;
    } else if (recent < this.#seconds && this.#seconds > 1) this.#seconds--;
  }
}
