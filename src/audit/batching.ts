/**
 * The audit mode `batch`: requests put events into a bounded queue and do not wait. The queue is sent in batches at a
 * limited rate. Events that find the queue full are dropped and counted. Source: upstream's `plugin/buffered`.
 */
import type { Clock } from "#std/clock.ts";
import { Deque } from "#std/deque.ts";
import type { AuditBackend, EventsLost, EventWriter } from "./backend.ts";
import type { EventRecord } from "./event.ts";

export interface BatchOptions {
  readonly plugin: string;
  readonly clock: Clock;
  /** The maximum number of waiting events. */
  readonly bufferSize: number;
  /** The maximum number of events in a batch. */
  readonly maxSize: number;
  /** The time in milliseconds after which a partial batch is sent, counted from its first event. */
  readonly maxWaitMs: number;
  /** The maximum number of batches per second, and of batches at once after a pause. */
  readonly throttle?: { readonly qps: number; readonly burst: number };
  /** The maximum number of concurrent batches. */
  readonly parallel: number;
  /** The maximum bytes of a batch, if there is such a limit; a single event may be longer. */
  readonly maxBytes?: number;
  readonly lost: EventsLost;
}

/** The maximum size of waiting events, whatever their number. */
const bufferBytesMax = 128 * 1024 * 1024;

export class Batching implements AuditBackend {
  readonly #writer: EventWriter;
  readonly #options: BatchOptions;
  readonly #queue = new Deque<EventRecord>();
  #bytes = 0;
  #underWay = 0;
  /** Whether the first waiting event has waited long enough. */
  #due = false;
  #cancelWait: (() => void) | undefined;
  #cancelThrottle: (() => void) | undefined;
  #tokens: number;
  #tokensAtMs: number;
  #closing = false;
  #idle: (() => void) | undefined;

  constructor(writer: EventWriter, options: BatchOptions) {
    this.#writer = writer;
    this.#options = options;
    this.#tokens = options.throttle?.burst ?? 0;
    this.#tokensAtMs = options.clock.monotonic();
  }

  process(record: EventRecord): boolean {
    const { plugin, bufferSize, lost } = this.#options;
    if (this.#closing) {
      lost(plugin, 1, new Error("the audit log is closed"));
    } else if (this.#queue.length >= bufferSize || this.#bytes + record.bytes > bufferBytesMax) {
      lost(plugin, 1, new Error("the queue of audit events is full"));
    } else {
      this.#queue.push(record);
      this.#bytes += record.bytes;
      this.#pump();
    }
    return true;
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#cancelThrottle?.();
      this.#cancelThrottle = undefined;
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      this.#pump();
      await idle;
    }
    await this.#writer.close();
  }

  #pump(): void {
    const { maxSize, parallel } = this.#options;
    while (this.#queue.length > 0 && this.#underWay < parallel && this.#cancelThrottle === undefined) {
      if (!this.#closing && !this.#due && this.#queue.length < maxSize) {
        this.#waitForMore();
        return;
      }
      if (!this.#closing && !this.#mayGo()) return;
      this.#due = false;
      this.#cancelWait?.();
      this.#cancelWait = undefined;
      this.#send(this.#take());
    }
    if (this.#closing && this.#queue.length === 0 && this.#underWay === 0) this.#idle?.();
  }

  #waitForMore(): void {
    this.#cancelWait ??= this.#options.clock.after(this.#options.maxWaitMs, () => {
      this.#cancelWait = undefined;
      this.#due = true;
      this.#pump();
    });
  }

  /** Takes a token and returns true. Without a token, schedules another attempt and returns false. */
  #mayGo(): boolean {
    const { clock, throttle } = this.#options;
    if (throttle === undefined) return true;
    const now = clock.monotonic();
    this.#tokens = Math.min(throttle.burst, this.#tokens + ((now - this.#tokensAtMs) / 1000) * throttle.qps);
    this.#tokensAtMs = now;
    // The tolerance prevents that rounding leaves a due timer a little short of a token.
    if (this.#tokens >= 1 - 1e-6) {
      this.#tokens -= 1;
      return true;
    }
    this.#cancelThrottle = clock.after(Math.ceil(((1 - this.#tokens) / throttle.qps) * 1000), () => {
      this.#cancelThrottle = undefined;
      this.#pump();
    });
    return false;
  }

  #take(): EventRecord[] {
    const { maxSize, maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    const batch: EventRecord[] = [];
    let bytes = 0;
    while (batch.length < maxSize) {
      const next = this.#queue.at(0);
      if (next === undefined || (batch.length > 0 && bytes + next.bytes > maxBytes)) break;
      this.#queue.shift();
      bytes += next.bytes;
      batch.push(next);
    }
    this.#bytes -= bytes;
    return batch;
  }

  #send(batch: readonly EventRecord[]): void {
    const { plugin, lost } = this.#options;
    this.#underWay += 1;
    void this.#writer
      .write(batch)
      .catch((error: unknown) => lost(plugin, batch.length, error))
      .finally(() => {
        this.#underWay -= 1;
        this.#pump();
      });
  }
}
