/**
 * A bounded cache of values that expire, such as answers of webhooks, or of values without expiry. It has two
 * generations of at most `sizeMax` entries: a full young generation replaces the old one, and used entries move to the
 * young one.
 */
interface ExpiringValue<T> {
  readonly value: T;
  readonly untilMs: number;
}

export class ExpiringCache<T> {
  readonly #sizeMax: number;
  #young = new Map<string, ExpiringValue<T>>();
  #old = new Map<string, ExpiringValue<T>>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** The number of values in the cache; values that have moved between generations may count twice. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns the value if it is still valid at `nowMs`, which is required when values have an expiry. */
  get(key: string, nowMs = 0): T | undefined {
    let cached = this.#young.get(key);
    if (cached === undefined) {
      cached = this.#old.get(key);
      if (cached !== undefined && nowMs < cached.untilMs) this.set(key, cached.value, cached.untilMs);
    }
    return cached !== undefined && nowMs < cached.untilMs ? cached.value : undefined;
  }

  set(key: string, value: T, untilMs = Number.POSITIVE_INFINITY): void {
    if (this.#young.size >= this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, { value, untilMs });
  }
}
