/**
 * Before a server says that it does not know a resource, it reads what other servers have written. Requests share these
 * reads, of which there are at most 20 a second.
 */
import type { Clock } from "#std/clock.ts";
import type { CacheReader } from "#storage/watch-cache.ts";

interface RefreshedTableOptions {
  readonly cache: Pick<CacheReader, "isShared" | "fresh">;
  readonly clock: Clock;
  /** Resolves when everything is served that reads see now. */
  inStep(): Promise<unknown>;
}

const periodMs = 50;

export class RefreshedTable {
  readonly #options: RefreshedTableOptions;
  /** The read that begins next, which sees what was written before it was asked for. */
  #next: Promise<void> | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(options: RefreshedTableOptions) {
    this.#options = options;
  }

  /**
   * Resolves when everything is served that another server has served before the call; `undefined` when it is. Rejects
   * when the store cannot be read.
   */
  refresh(): Promise<void> | undefined {
    if (!this.#options.cache.isShared) return undefined;
    this.#next ??= this.#read();
    return this.#next;
  }

  async #read(): Promise<void> {
    const { cache, clock, inStep } = this.#options;
    const waitMs = this.#lastMs + periodMs - clock.monotonic();
    // Even without a pause the read begins after those have come that share it.
    await (waitMs > 0 ? new Promise<void>((resume) => void clock.after(waitMs, resume)) : undefined);
    this.#lastMs = clock.monotonic();
    this.#next = undefined;
    await cache.fresh();
    await inStep();
  }
}
