/** A token bucket: it limits how often something happens on average, and allows bursts. */
import type { Clock } from "#std/clock.ts";

interface TokenBucketRate {
  /** The tokens that are added in a second. */
  readonly perSecond: number;
  /** The maximum number of tokens, which is also the number at the beginning. */
  readonly burst: number;
}

export class TokenBucket {
  readonly #rate: TokenBucketRate;
  readonly #clock: Clock;
  /** The number of tokens at `#sinceMs`; negative when tokens are owed. */
  #tokens: number;
  #sinceMs: number;

  constructor(rate: TokenBucketRate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#sinceMs = clock.monotonic();
  }

  /** Takes a token, and returns the time in milliseconds until it is there; 0 if it is there now. */
  reserve(): number {
    this.#fill();
    this.#tokens--;
    return Math.max(0, (-this.#tokens * 1000) / this.#rate.perSecond);
  }

  /** Takes a token if there is one, and returns whether there was. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const { perSecond, burst } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#sinceMs) * perSecond) / 1000);
    this.#sinceMs = now;
  }
}
