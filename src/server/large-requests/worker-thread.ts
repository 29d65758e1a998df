/** The event loop's end of a thread of large requests: it begins work, answers questions, and learns of the end. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { requestTooLarge } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { errorOf, failureOf } from "./ask.ts";
import type { FromThread, ThreadStart, ToThread } from "./messages.ts";
import type { Work } from "./work.ts";

/** Megabytes of objects a thread may have; the largest bodies of honest clients need a tenth. */
const heapMbMax = 320;
/** A thread without work ends after so long. */
const idleMs = 60_000;

/** One thread and the work it has. */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #on: { free(): void; ended(): void };
  #running: Work | undefined;
  #isEnding = false;
  #failure: Error | undefined;
  #cancelIdle: () => void = () => undefined;

  constructor(start: ThreadStart, clock: Clock, on: { free(): void; ended(): void }) {
    this.#clock = clock;
    this.#on = on;
    // In the source tree this file and the thread's end in .ts, in the package in .js.
    const extension = extname(import.meta.url);
    this.#worker = new Worker(new URL(`./thread${extension}`, import.meta.url), {
      workerData: start,
      // Not the flags of this process.
      execArgv: extension === ".ts" ? ["--conditions=source"] : [],
      name: "binnacle-large-request",
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 32 },
    });
    this.#worker.on("message", (message: FromThread) => this.#take(message));
    this.#worker.on("error", (error: Error) => {
      this.#failure = error;
    });
    this.#worker.on("exit", () => this.#exited());
    this.#worker.unref();
  }

  get running(): Work | undefined {
    return this.#running;
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#isEnding;
  }

  begin(work: Work): void {
    this.#cancelIdle();
    this.#running = work;
    this.#worker.ref();
    this.#post({ type: "job", job: work.job() });
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#cancelIdle();
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #take(message: FromThread): void {
    const running = this.#running;
    if (running === undefined) return;
    if (message.type === "question") {
      const { id, question } = message;
      running.answer(question).then(
        (answer) => this.#post({ type: "answer", id, answer }),
        (error: unknown) => this.#post({ type: "failed", id, failure: failureOf(error) }),
      );
      return;
    }
    this.#running = undefined;
    this.#worker.unref();
    this.#cancelIdle = this.#clock.after(idleMs, () => void this.end());
    running.warn?.(message.warnings);
    running.settle(message.type === "reply" ? message : { error: errorOf(message.failure) });
    this.#on.free();
  }

  #exited(): void {
    this.#isEnding = true;
    this.#cancelIdle();
    const running = this.#running;
    this.#running = undefined;
    running?.settle({
      error: isOutOfMemory(this.#failure) ? outgrown() : (this.#failure ?? new Error("a thread ended")),
    });
    this.#on.ended();
  }
}

const isOutOfMemory = (error: Error | undefined): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";

const outgrown = (): Error =>
  requestTooLarge(`it needs more than the ${heapMbMax} MB of memory that one request may have`);
