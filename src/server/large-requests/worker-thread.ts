/**
 * The event loop's handle of a thread of large requests: starts jobs, answers calls, and notices the end of the thread.
 */
import type { Worker } from "node:worker_threads";
import type { Clock } from "#std/clock.ts";
import { startThread } from "#std/thread.ts";
import { errorOf, failureOf, memoryExceeded, memoryMbMax } from "./failures.ts";
import type { FromThread, HostCall, HostCalls, Job, SentReply, ThreadStart, ToThread } from "./messages.ts";

/** The interval of memory checks in milliseconds. */
const lookMs = 10;
/**
 * The runtime's own heap limit of a thread, far above `memoryMbMax`. It works only between small objects: an object of
 * more than 16 MB that does not fit would end the process.
 */
const heapMbMax = 1536;
/**
 * The stack size of the event loop (984 KB, and the runtime's reserve), so that it can decode all objects that threads
 * encode.
 */
const stackMb = (984 + 192) / 1024;
/** The time in milliseconds without a job after which a thread ends. */
const idleMs = 60_000;

/** A job for a thread, with the answers to the thread's calls and the caller that waits for the end of the job. */
export interface PendingJob {
  /** The name of the user. Users take turns. */
  readonly user: string;
  /** Makes the message when the job begins, so that it has the object as it is stored then. */
  message(): Job;
  answer(call: HostCall): Promise<HostCalls[keyof HostCalls]["answer"]>;
  warn?(texts: readonly string[]): void;
  finish(end: { readonly reply: SentReply } | { readonly error: Error }): void;
}

/** One thread and its current job. */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #on: { free(): void; ended(): void };
  #running: PendingJob | undefined;
  #isEnding = false;
  #failure: Error | undefined;
  #cancelTimer: () => void = () => undefined;

  constructor(start: ThreadStart, clock: Clock, on: { free(): void; ended(): void }) {
    this.#clock = clock;
    this.#on = on;
    this.#worker = startThread(import.meta.resolve("#server/large-requests/thread.ts"), {
      workerData: start,
      name: "binnacle-large-request",
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 32, stackSizeMb: stackMb },
    });
    this.#worker.on("message", (message: FromThread) => this.#take(message));
    this.#worker.on("error", (error: Error) => {
      this.#failure = error;
    });
    this.#worker.on("exit", () => this.#exited());
    this.#worker.unref();
  }

  get running(): PendingJob | undefined {
    return this.#running;
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#isEnding;
  }

  begin(job: PendingJob): void {
    this.#cancelTimer();
    this.#running = job;
    this.#worker.ref();
    this.#post({ type: "job", job: job.message() });
    this.#lookLater();
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#cancelTimer();
    await this.#worker.terminate();
  }

  #lookLater(): void {
    this.#cancelTimer = this.#clock.after(lookMs, () => void this.#look());
  }

  /** Ends a thread whose job needs too much memory. */
  async #look(): Promise<void> {
    const job = this.#running;
    const bytes = await bytesOf(this.#worker);
    if (this.#running !== job || this.#isEnding) return;
    if (bytes <= memoryMbMax * 1024 * 1024) return this.#lookLater();
    this.#failure = memoryExceeded();
    void this.end();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #take(message: FromThread): void {
    const running = this.#running;
    // An ended request already has its answer.
    if (running === undefined || this.#isEnding) return;
    if (message.type === "call") {
      const { id, call } = message;
      running.answer(call).then(
        (answer) => this.#post({ type: "answer", id, answer }),
        (error: unknown) => this.#post({ type: "failed", id, failure: failureOf(error) }),
      );
      return;
    }
    this.#running = undefined;
    this.#cancelTimer();
    this.#worker.unref();
    this.#cancelTimer = this.#clock.after(idleMs, () => void this.end());
    running.warn?.(message.warnings);
    running.finish(message.type === "reply" ? message : { error: errorOf(message.failure) });
    this.#on.free();
  }

  #exited(): void {
    this.#isEnding = true;
    this.#cancelTimer();
    const running = this.#running;
    this.#running = undefined;
    running?.finish({
      error: isOutOfMemory(this.#failure) ? memoryExceeded() : (this.#failure ?? new Error("a thread ended")),
    });
    this.#on.ended();
  }
}

/**
 * Returns the memory use of a thread in bytes; 0 when the thread has ended. A thread answers between two steps of its
 * work.
 */
async function bytesOf(worker: Worker): Promise<number> {
  try {
    const { used_heap_size: used, external_memory: external } = await worker.getHeapStatistics();
    return used + external;
  } catch {
    return 0;
  }
}

const isOutOfMemory = (error: Error | undefined): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";
