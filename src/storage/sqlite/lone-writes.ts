/**
 * Writes that the main thread makes durable itself, in the redo log, instead of waiting for the worker. One client that
 * writes alone otherwise pays for two changes of thread with every write: a third of its time and a fifth of its CPU
 * time (measured with creates over one connection).
 *
 * The thread stands still for the sync meanwhile. So it is done only where nobody else waits (the loop has seen
 * hardly anything but this client since its last write), once in a turn of the loop, and only on a disk that
 * syncs in a fraction of a millisecond. After a sync that stood everybody still the disk is left alone for as long as
 * it takes to make that a five-hundredth of the time.
 *
 * Hot path: `write`.
 */
import { performance } from "node:perf_hooks";

import type { Clock } from "#std/clock.ts";

import type { PendingWrite } from "../mvcc.ts";
import { RedoLog } from "./redo-log.ts";

/** The worker gets what the redo log holds after so long at the latest. */
const handOverMs = 100;
const valueBytesMax = 16 * 1024;
/** A disk that takes longer is left to the worker. */
const syncMsMax = 0.5;
/** A single sync that took longer has the redo log rest for so many times as long. */
const stallMs = 5;
const restFactor = 500;
/** What is taken for the duration of a sync before one was seen: about 15 fast ones bring it below the limit. */
const syncMsAtFirst = 4;
/** The weight of the last sync in the average. */
const syncWeight = 1 / 8;
/** What one client's request wakes the loop for, and its answer. */
const eventsOfOneClient = 4;

export interface LoneWritesOptions {
  readonly clock: Clock;
  /** Has the worker make a redo log. */
  readonly open: () => Promise<RedoLog>;
  /** Gives `take` to the worker. */
  readonly handOver: () => void;
  /** For tests: whatever the disk and the loop are like. */
  readonly isEager: boolean;
}

export class LoneWrites {
  readonly #options: LoneWritesOptions;
  #log: RedoLog | undefined;
  #isOpening = false;
  #isClosed = false;
  /** In the redo log, and not yet with the worker. */
  #writes: PendingWrite[] = [];
  #cancelHandOver: (() => void) | undefined;
  #syncMs: number;
  /** Until when the redo log rests. */
  #restUntil = Number.NEGATIVE_INFINITY;
  #turn = 0;
  #events = 0;

  constructor(options: LoneWritesOptions) {
    this.#options = options;
    this.#syncMs = options.isEager ? 0 : syncMsAtFirst;
  }

  /**
   * Whether `write` is durable now. To be asked only while the worker has nothing under way. Throws when the redo log
   * cannot be written.
   */
  write(write: PendingWrite): boolean {
    const { clock, isEager } = this.#options;
    const isSuitable = this.#isLoopQuiet() && write.version.value.length <= valueBytesMax;
    if (this.#log === undefined) this.#open();
    if (!isSuitable || this.#log === undefined || this.#syncMs > syncMsMax) return false;
    const start = clock.monotonic();
    if (start < this.#restUntil) return false;
    if (this.#writes.length === 0) this.#log.restart();
    if (!this.#log.append(write)) return false;
    if (!isEager) this.#learnOwn(clock.monotonic() - start);
    this.#writes.push(write);
    this.#cancelHandOver ??= clock.after(handOverMs, this.#options.handOver);
    return true;
  }

  /** What the redo log holds, for the worker: before the next `write` it must be durable there. */
  take(): readonly PendingWrite[] {
    const writes = this.#writes;
    if (writes.length === 0) return writes;
    this.#writes = [];
    this.#cancelHandOver?.();
    this.#cancelHandOver = undefined;
    return writes;
  }

  /** So long the last commit of one write took. */
  learn(syncMs: number): void {
    this.#syncMs += (syncMs - this.#syncMs) * syncWeight;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelHandOver?.();
    this.#log?.close();
    this.#log = undefined;
  }

  #learnOwn(syncMs: number): void {
    this.learn(syncMs);
    if (syncMs > stallMs) this.#restUntil = this.#options.clock.monotonic() + syncMs * restFactor;
  }

  /** Whether this is another turn of the loop than at the last write, with hardly anything in between. */
  #isLoopQuiet(): boolean {
    const { loopCount, events } = performance.nodeTiming.uvMetricsInfo;
    const isQuiet = loopCount !== this.#turn && (this.#options.isEager || events - this.#events <= eventsOfOneClient);
    this.#turn = loopCount;
    this.#events = events;
    return isQuiet;
  }

  #open(): void {
    if (this.#isOpening || this.#syncMs > syncMsMax) return;
    this.#isOpening = true;
    this.#options.open().then(
      (log) => {
        if (this.#isClosed) log.close();
        else this.#log = log;
      },
      // Then all goes by way of the worker, whose own failures are told.
      () => undefined,
    );
  }
}
