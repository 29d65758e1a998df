/** Expiry times of keys. Superseded entries are skipped when due, and removed when there are many. */
import { Heap } from "#std/heap.ts";

import type { Revision } from "./log-store.ts";

/** A key that expires, unless it has been written since that revision. */
interface Due {
  readonly expiresAt: number;
  readonly key: string;
  readonly revision: Revision;
}

export class Expiry {
  readonly #due = new Heap<Due>((a, b) => a.expiresAt < b.expiresAt);
  readonly #isCurrent: (key: string, revision: Revision) => boolean;
  #sizeAfterSweep = 0;

  constructor(isCurrent: (key: string, revision: Revision) => boolean) {
    this.#isCurrent = isCurrent;
  }

  /** The time at which the next key may expire; `undefined` when none will. */
  get next(): number | undefined {
    return this.#due.peek()?.expiresAt;
  }

  add(due: Due): void {
    this.#due.push(due);
    if (this.#due.size > 1024 && this.#due.size > 2 * this.#sizeAfterSweep) {
      this.#due.filter((due) => this.#isCurrent(due.key, due.revision));
      this.#sizeAfterSweep = this.#due.size;
    }
  }

  /** Removes and returns up to `limit` keys that have expired at `now` and were not written since. */
  take(now: number, limit: number): { key: string; revision: Revision }[] {
    const taken: Due[] = [];
    while (taken.length < limit) {
      const due = this.#due.peek();
      if (due === undefined || due.expiresAt > now) break;
      this.#due.pop();
      if (this.#isCurrent(due.key, due.revision)) taken.push(due);
    }
    return taken;
  }
}
