/** Compacts a log from time to time, so that it keeps the history of some minutes. */
import type { Clock } from "#std/clock.ts";

import type { Revision } from "./log-store.ts";

export interface CompactionTimes {
  /**
   * The time between two compactions of history, and the age of the history that is kept at least; default 5 minutes
   * each, 0 for never.
   */
  readonly compactionIntervalMs?: number;
  readonly historyMs?: number;
}

interface CompactedLog {
  readonly revision: () => Revision;
  compact(revision: Revision): Promise<void>;
}

const defaultMs = 5 * 60 * 1000;

export class CompactionTimer {
  readonly #clock: Clock;
  readonly #log: CompactedLog;
  readonly #intervalMs: number;
  readonly #historyMs: number;
  /** Revisions seen at past ticks, oldest first. */
  readonly #checkpoints: { readonly at: number; readonly revision: Revision }[] = [];
  #cancel: (() => void) | undefined;

  constructor(
    { compactionIntervalMs = defaultMs, historyMs = defaultMs }: CompactionTimes,
    clock: Clock,
    log: CompactedLog,
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#intervalMs = compactionIntervalMs;
    this.#historyMs = historyMs;
  }

  /** Begins to compact. All that the log has now counts as written now. */
  start(): void {
    if (this.#intervalMs <= 0) return;
    this.#checkpoints.push({ at: this.#clock.monotonic(), revision: this.#log.revision() });
    this.#schedule();
  }

  stop(): void {
    this.#cancel?.();
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(this.#intervalMs, () => {
      const now = this.#clock.monotonic();
      this.#checkpoints.push({ at: now, revision: this.#log.revision() });
      let target: Revision | undefined;
      while (this.#checkpoints[0] !== undefined && this.#checkpoints[0].at <= now - this.#historyMs) {
        target = this.#checkpoints.shift()!.revision;
      }
      this.#schedule();
      // A log that cannot be compacted cannot be written either, which `failure` will report.
      if (target !== undefined) this.#log.compact(target).catch(() => undefined);
    });
  }
}
