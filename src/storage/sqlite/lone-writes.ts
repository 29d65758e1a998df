/**
 * Writes that the main thread makes durable itself, in the redo log, instead of waiting for the worker. One client that
 * writes alone otherwise pays for two changes of thread with every write: a third of its time and a fifth of its CPU
 * time (measured with creates over one connection).
 *
 * The thread stands still for the sync meanwhile. So it is done only where nobody else waits (the loop has seen
 * hardly anything but this client for some writes), and once in a turn of the loop. A sync that takes longer than a
 * moment is paid for: the redo log rests until such syncs are a fiftieth of the time. Where all take longer, the worker
 * so gets nearly every write.
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
/** A sync of this length at most costs nothing. */
const momentMs = 2;
/** So many ms of longer ones are paid for in advance, at most and at first. */
const creditMsMax = 50;
/** How many of them each ms that passes pays for. */
const creditPerMs = 1 / 50;
/** What one client's request wakes the loop for, and its answer. */
const eventsOfOneClient = 4;
/**
 * Nearly all of the last writes must have been a single client's, since among many clients, too, one follows the other
 * now and then: each that was counts 1, up to the most, each that was not takes away as much as `othersWeight`.
 */
const quietMin = 16;
const quietMax = 32;
const othersWeight = 8;

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
  /** How many ms of long syncs are paid for, as of `#creditedAt`. Below 0 the redo log rests. */
  #creditMs = creditMsMax;
  #creditedAt: number;
  #turn = 0;
  #events = 0;
  /** How sure it is that one client writes alone; see `quietMin`. */
  #quiet = 0;

  constructor(options: LoneWritesOptions) {
    this.#options = options;
    this.#creditedAt = options.clock.monotonic();
  }

  /**
   * Whether `write` is durable now. To be asked only while the worker has nothing under way. Throws when the redo log
   * cannot be written.
   */
  write(write: PendingWrite): boolean {
    const { clock, isEager } = this.#options;
    if (!this.#isLoopQuiet() || write.version.value.length > valueBytesMax) return false;
    if (this.#log === undefined) {
      this.#open();
      return false;
    }
    const start = clock.monotonic();
    this.#creditMs = Math.min(this.#creditMs + (start - this.#creditedAt) * creditPerMs, creditMsMax);
    this.#creditedAt = start;
    if (this.#creditMs < 0 && !isEager) return false;
    if (this.#writes.length === 0) this.#log.restart();
    if (!this.#log.append(write)) return false;
    const tookMs = clock.monotonic() - start;
    if (tookMs > momentMs) this.#creditMs -= tookMs;
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

  close(): void {
    this.#isClosed = true;
    this.#cancelHandOver?.();
    this.#log?.close();
    this.#log = undefined;
  }

  /** Whether this write and those before came each in a turn of its own, with hardly anything in between. */
  #isLoopQuiet(): boolean {
    const { loopCount, events } = performance.nodeTiming.uvMetricsInfo;
    const isOtherTurn = loopCount !== this.#turn;
    const isQuiet = isOtherTurn && events - this.#events <= eventsOfOneClient;
    this.#turn = loopCount;
    this.#events = events;
    this.#quiet = isQuiet ? Math.min(this.#quiet + 1, quietMax) : Math.max(this.#quiet - othersWeight, 0);
    return this.#options.isEager ? isOtherTurn : isQuiet && this.#quiet >= quietMin;
  }

  #open(): void {
    if (this.#isOpening) return;
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
