/**
 * A log store around another one that waits where etcd behind kube-apiserver does, for test suites that depend on it. A
 * removal waits until watchers have had the deletion mark for a moment, so that a controller which decides by its cache
 * sees the mark. A request for the latest revision waits until the newest write is a moment old, so that a read right
 * after a write shows the reaction of controllers. Later writes make neither wait longer.
 */
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { ForwardingLog } from "./forwarding-log.ts";
import type { CommitResult, LogStore, LogWrite, Revision } from "./log-store.ts";

/**
 * The minimum time between an object's first deletion mark and its removal: a controller in a process of its own, which
 * shares the processors with the server, has read the mark by then. 1.32 takes about as long between its two writes.
 */
export const deletionPauseMs = 6;

/** The minimum age of the newest write when a read of the present is answered. */
export const readDelayMs = 5;

export class UpstreamTimingLog extends ForwardingLog {
  readonly #clock: Clock;
  #writtenMs = Number.NEGATIVE_INFINITY;
  /** A promise for each key that was marked a moment ago; it resolves when the key may be removed. */
  readonly #marked = new Map<string, Promise<void>>();

  constructor(log: LogStore, clock: Clock) {
    super(log);
    this.#clock = clock;
  }

  override latest(): MaybePromise<Revision> {
    const dueMs = this.#writtenMs + readDelayMs;
    if (dueMs <= this.#clock.monotonic()) return this.log.latest();
    return this.#until(dueMs).then(() => this.log.latest());
  }

  override async commit(write: LogWrite): Promise<CommitResult> {
    const { key, value, isForDeletion } = write;
    const isRemoval = value === undefined;
    const pause = isRemoval ? this.#marked.get(key) : undefined;
    if (pause !== undefined) await pause;
    const result = await this.log.commit(write);
    if (!result.committed) return result;
    this.#writtenMs = this.#clock.monotonic();
    if (isForDeletion && !isRemoval && !this.#marked.has(key)) {
      this.#marked.set(
        key,
        this.#pause().then(() => void this.#marked.delete(key)),
      );
    }
    return result;
  }

  async #pause(): Promise<void> {
    // However long a turn of the loop takes: watchers get the mark in this turn, and HTTP/2 sends it in the next.
    for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => setImmediate(resolve));
    await this.#until(this.#clock.monotonic() + deletionPauseMs);
  }

  /** Resolves at this time or later: timers of the runtime may fire early by part of a millisecond. */
  async #until(dueMs: number): Promise<void> {
    for (;;) {
      const leftMs = dueMs - this.#clock.monotonic();
      if (leftMs <= 0) return;
      await new Promise<void>((resolve) => void this.#clock.after(leftMs, resolve));
    }
  }
}
