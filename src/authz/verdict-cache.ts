/**
 * A cache of webhook decisions. Bounded: two generations of at most `sizeMax` entries; a full young generation replaces
 * the old one, and used entries move to the young one.
 */
import type { Verdict } from "./authorizer.ts";

interface Kept {
  readonly verdict: Verdict;
  readonly untilMs: number;
}

export class VerdictCache {
  readonly #sizeMax: number;
  #young = new Map<string, Kept>();
  #old = new Map<string, Kept>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** The verdict if it is still valid at `nowMs`. */
  get(key: string, nowMs: number): Verdict | undefined {
    let kept = this.#young.get(key);
    if (kept === undefined) {
      kept = this.#old.get(key);
      if (kept !== undefined && nowMs < kept.untilMs) this.set(key, kept.verdict, kept.untilMs);
    }
    return kept !== undefined && nowMs < kept.untilMs ? kept.verdict : undefined;
  }

  set(key: string, verdict: Verdict, untilMs: number): void {
    if (this.#young.size >= this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, { verdict, untilMs });
  }
}
