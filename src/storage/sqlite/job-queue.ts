/**
 * The requests that the thread of the log works on, as jobs of many short steps between which it commits writes. No job
 * delays a write for more than a few milliseconds. Jobs that change or sum up the log run one after the other. All
 * other jobs run at the same time as these and as each other: one step of each in turn.
 */
import { systemClock } from "#std/clock.ts";

import type { LogResult, SendToMain } from "./messages.ts";

/** Work in steps; the thread may commit writes after each. */
export type JobSteps<T> = Generator<undefined, T>;

/** A request, and the steps that answer it. */
interface Job {
  /** The number of the request, for the message with its result. */
  readonly id: number;
  readonly steps: JobSteps<LogResult>;
  /** Whether it changes or sums up the log, so that no other such job may run beside it. */
  readonly isExclusive: boolean;
  /**
   * Whether the thread rests after every step of it, so that it hardly delays writes and the disk. Only for exclusive
   * jobs.
   */
  readonly isGentle: boolean;
}

/** The length of the rest after a step of a gentle job, as a multiple of the step's. */
const restFactor = 3;
/** The time for which a gentle job continues without a rest, when no write arrives. */
const gentleMs = 2;

/** The number of calls for the thread, which changes when something waits for it. */
interface Calls {
  readonly callCount: number;
}

export class JobQueue {
  readonly #calls: Calls;
  readonly #send: SendToMain;
  /** Jobs that take turns, one step at a time. */
  #shared: Job[] = [];
  /** Jobs that run one after the other. */
  #exclusive: Job[] = [];
  /** The time at which the rest of the first exclusive job ends, in milliseconds of the monotonic clock. */
  #restUntil = 0;
  #wasExclusive = false;

  constructor(calls: Calls, send: SendToMain) {
    this.#calls = calls;
    this.#send = send;
  }

  add(job: Job): void {
    (job.isExclusive ? this.#exclusive : this.#shared).push(job);
  }

  /**
   * The time at which a step may run, in milliseconds of the monotonic clock: 0 for at once, infinite when there is no
   * job.
   */
  get nextStepAt(): number {
    if (this.#shared.length > 0) return 0;
    return this.#exclusive.length > 0 ? this.#restUntil : Number.POSITIVE_INFINITY;
  }

  /**
   * Runs a step of one job: alternately of the exclusive one, and of one of the others. `now` is of the monotonic
   * clock.
   */
  runStep(now: number): void {
    const mayRunExclusive = this.#exclusive.length > 0 && now >= this.#restUntil;
    this.#wasExclusive = mayRunExclusive && (this.#shared.length === 0 || !this.#wasExclusive);
    if (this.#wasExclusive) {
      this.#runExclusive(this.#exclusive[0]!, now);
      return;
    }
    const job = this.#shared.shift();
    if (job !== undefined && !this.#step(job)) this.#shared.push(job);
  }

  /** Finishes the running exclusive jobs at once, without rests. */
  finishExclusive(): void {
    while (this.#exclusive.length > 0) if (this.#step(this.#exclusive[0]!)) this.#exclusive.shift();
  }

  /** Cancels all jobs, which get no result. */
  cancel(): void {
    for (const job of [...this.#shared, ...this.#exclusive]) job.steps.return(undefined);
    this.#shared = [];
    this.#exclusive = [];
  }

  #runExclusive(job: Job, start: number): void {
    const { callCount } = this.#calls;
    let isDone = this.#step(job);
    let usedMs = systemClock.monotonic() - start;
    // Every rest makes the next step more expensive, so several steps follow each other.
    while (job.isGentle && !isDone && usedMs < gentleMs && this.#calls.callCount === callCount) {
      isDone = this.#step(job);
      usedMs = systemClock.monotonic() - start;
    }
    if (isDone) this.#exclusive.shift();
    if (job.isGentle) this.#restUntil = isDone ? 0 : start + usedMs * (1 + restFactor);
  }

  /** Runs a step. Returns whether the job is done; its result has been sent in this case. */
  #step({ id, steps }: Job): boolean {
    try {
      const next = steps.next();
      if (next.done !== true) return false;
      const result = next.value;
      const rows = result !== undefined && "rows" in result ? result.rows : undefined;
      // Safe: rows are packed into memory of their own, which is not shared.
      this.#send({ kind: "result", id, result }, rows === undefined ? [] : [rows.buffer as ArrayBuffer]);
    } catch (error) {
      this.#send({ kind: "requestFailed", id, message: messageOf(error) });
    }
    return true;
  }
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
