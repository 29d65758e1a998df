/** The main thread's side of the thread that owns the log (`log-thread.ts`): messages, and requests with their results. */
import type { Worker } from "node:worker_threads";

import { startThread } from "#std/thread.ts";

import { StorageFailure, StoreFailed } from "../log-store.ts";
import type {
  FromWorker,
  LogRequest,
  LogRequestOf,
  LogResult,
  LogResults,
  Mailbox,
  ToWorker,
  WorkerStart,
} from "./messages.ts";

/** The callbacks for the result of a request. */
interface Pending {
  readonly resolve: (result: LogResult) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerClient {
  /** Called with every message that is no result. */
  onMessage: (message: FromWorker) => void = () => undefined;
  /** Called once, when the thread has ended or failed by itself. */
  onLost: (error: Error) => void = () => undefined;
  readonly #worker: Worker;
  readonly #mailbox: Mailbox;
  readonly #ended = Promise.withResolvers<void>();
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  /** Whether all writes are answered, so that the thread may end. */
  #isClosing = false;
  #isStopped = false;
  /** The reason why the thread answers no more; `undefined` while it does. */
  #failure: Error | undefined;

  /** Starts the thread. */
  constructor(start: WorkerStart, mailbox: Mailbox) {
    this.#mailbox = mailbox;
    this.#worker = startThread(import.meta.resolve("#storage/sqlite/worker.ts"), {
      workerData: start,
      name: "binnacle-storage",
      // All it allocates is short-lived. Measured: 30 MB less after loading 100,000 objects, no slower.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("exit", (code) => {
      this.#fail(new StoreFailed(`its thread ended with code ${code}`));
      this.#ended.resolve();
    });
    this.#worker.on("error", (error) => this.#fail(new StoreFailed("its thread failed", { cause: error })));
    this.#worker.on("message", (message: FromWorker) => this.#receive(message));
  }

  /** Sends a message without a result. `transfer` is no longer usable here. */
  send(message: ToWorker, transfer: ArrayBuffer[]): void {
    this.#worker.postMessage(message, transfer);
  }

  /** Resolves with the result of a request. Rejects with `StorageFailure` when it fails, or the thread is gone. */
  request<K extends LogRequest["kind"]>(request: LogRequestOf<K>): Promise<LogResults[K]> {
    const failure = this.#isStopped ? new StorageFailure("the store is closed") : this.#failure;
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // Safe: the thread answers a request with the result of its kind.
      this.#pending.set(id, { resolve: resolve as (result: LogResult) => void, reject });
      this.#worker.postMessage({ kind: "request", id, request } satisfies ToWorker);
      this.#mailbox.call();
    });
  }

  /** Lets the thread close the file, and ends it. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    if (this.#failure === undefined) {
      await Promise.race([this.request({ kind: "close" }).catch(() => undefined), this.#ended.promise]);
    }
    this.#isStopped = true;
    this.#fail(new StorageFailure("the store is closed"));
    await this.#worker.terminate();
  }

  #receive(message: FromWorker): void {
    if (typeof message === "number" || (message.kind !== "result" && message.kind !== "requestFailed")) {
      this.onMessage(message);
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === "result") pending?.resolve(message.result);
    else pending?.reject(new StorageFailure(message.message));
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    if (!this.#isClosing) this.onLost(error);
  }
}
