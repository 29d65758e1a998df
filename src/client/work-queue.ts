/**
 * A queue of keys to reconcile. Each key is queued at most once, is never processed twice at a time, and is retried
 * with exponential backoff. Source: the idea of upstream's work queue.
 */
import { StatusError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { QueueObserver, WorkQueueMetrics } from "./work-queue-metrics.ts";

/** The first and the longest pause before a retry; each pause is twice the previous one. */
export interface RetryPauses {
  readonly minMs: number;
  readonly maxMs: number;
}

const usualPauses: RetryPauses = { minMs: 20, maxMs: 30_000 };

export interface WorkQueueOptions {
  /**
   * Reconciles a key. `"again"` means that it is not done yet, without an error; it is retried after a pause, as after
   * a failure.
   */
  work(key: string): Promise<"again" | void>;
  readonly clock: Clock;
  readonly workersMax: number;
  readonly pauses?: RetryPauses;
  /** Limits the retries of all keys together; without it, there is no such limit. */
  readonly retries?: TokenBucket | undefined;
  /** The name of the queue in metrics, and the metrics; without this, nothing is measured. */
  readonly measured?: { readonly name: string; readonly metrics: WorkQueueMetrics } | undefined;
  /** Called for every failure except conflicts, which the next attempt resolves. */
  failed(key: string, error: unknown): void;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #pauses: RetryPauses;
  readonly #observer: QueueObserver | undefined;
  /** The waiting keys with the time at which each was added; 0 when nothing is measured. */
  readonly #waiting = new Map<string, number>();
  /** The iterator from which the next key is taken. A new iterator would skip all previously deleted keys each time. */
  #next = this.#waiting.entries();
  /** The time at which the work on each key began. */
  readonly #running = new Map<string, number>();
  /** Keys that were added again while they were processed. */
  readonly #again = new Set<string>();
  /** The number of failed attempts of each key. */
  readonly #tries = new Map<string, number>();
  readonly #timers = new Map<string, () => void>();
  #closed = false;
  /** Called when no work is running any more, after the queue was closed. */
  readonly #drained = Promise.withResolvers<void>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#pauses = options.pauses ?? usualPauses;
    const { measured } = options;
    this.#observer = measured?.metrics.queue(measured.name, () => ({
      depth: this.#waiting.size + this.#again.size,
      started: this.#running.values(),
    }));
  }

  add(key: string): void {
    if (this.#closed) return;
    if (this.#running.has(key)) {
      if (this.#again.has(key)) return;
      this.#again.add(key);
      this.#observer?.added();
      return;
    }
    if (this.#waiting.has(key)) return;
    this.#waiting.set(key, this.#now());
    this.#observer?.added();
    this.#start();
  }

  /** Adds the key after a pause, which replaces an earlier pause of the same key. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    this.#timers.get(key)?.();
    this.#timers.set(
      key,
      this.#options.clock.after(ms, () => {
        this.#timers.delete(key);
        this.add(key);
      }),
    );
  }

  #start(): void {
    while (this.#running.size < this.#options.workersMax) {
      const key = this.#take();
      if (key === undefined) return;
      this.#running.set(key, this.#now());
      void this.#run(key);
    }
  }

  #take(): string | undefined {
    let next = this.#next.next();
    if (next.done === true) {
      this.#next = this.#waiting.entries();
      next = this.#next.next();
    }
    if (next.done === true) return undefined;
    const [key, addedMs] = next.value;
    this.#waiting.delete(key);
    this.#observer?.started(this.#now() - addedMs);
    return key;
  }

  /** Returns the time; 0 when nothing is measured. */
  #now(): number {
    return this.#observer === undefined ? 0 : this.#options.clock.monotonic();
  }

  async #run(key: string): Promise<void> {
    let isDone = false;
    try {
      isDone = (await this.#options.work(key)) !== "again";
    } catch (error) {
      if (!this.#closed && !isConflict(error)) this.#options.failed(key, error);
    }
    if (isDone) this.#tries.delete(key);
    else this.#retry(key);
    this.#observer?.done(this.#now() - (this.#running.get(key) ?? 0));
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#waiting.set(key, this.#now());
    if (!this.#closed) this.#start();
    else if (this.#running.size === 0) this.#drained.resolve();
  }

  #retry(key: string): void {
    const { minMs, maxMs } = this.#pauses;
    const tries = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tries + 1);
    if (!this.#closed) this.#observer?.retried();
    const ownMs = Math.min(minMs * 2 ** tries, maxMs);
    this.addAfter(key, this.#closed ? ownMs : Math.max(ownMs, this.#options.retries?.reserve() ?? 0));
  }

  /** The keys whose work is running. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Resolves when the queue is closed and the work that was running has ended. */
  get drained(): Promise<void> {
    return this.#drained.promise;
  }

  /** Ends the queue: waiting keys are dropped, and work that is running goes on. */
  close(): void {
    this.#closed = true;
    if (this.#running.size === 0) this.#drained.resolve();
    this.#waiting.clear();
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#observer?.closed();
  }
}

const isConflict = (error: unknown): boolean => error instanceof StatusError && error.status.code === 409;
