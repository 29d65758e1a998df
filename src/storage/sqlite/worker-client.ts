/** The main thread's side of the thread that owns the log (`log-thread.ts`): messages, and requests with their results. */
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

/** The way to the thread that owns a log. */
export interface LogLink {
  post(message: ToWorker, transfer?: ArrayBuffer[]): void;
  /** Gives every message to `take`, and calls `lost` when the thread has ended or failed by itself. */
  follow(take: (message: FromWorker) => void, lost: (error: Error) => void): void;
  end(): Promise<unknown>;
}

/** The part of a `Mailbox` that the main thread uses. */
export type CommitSlots = Pick<Mailbox, "slot" | "post" | "call">;

/** Starts a thread of its own for a log. */
export function ownThread(start: WorkerStart): LogLink {
  const worker = startThread(import.meta.resolve("#storage/sqlite/worker.ts"), {
    workerData: start,
    name: "binnacle-storage",
    // All it allocates is short-lived. Measured: 30 MB less after loading 100,000 objects, no slower.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    follow(take, lost) {
      worker.on("exit", (code) => lost(new StoreFailed(`its thread ended with code ${code}`)));
      worker.on("error", (error) => lost(new StoreFailed("its thread failed", { cause: error })));
      worker.on("message", take);
    },
    end: () => worker.terminate(),
  };
}

export class WorkerClient {
  /** Called with every message that is no result. */
  onMessage: (message: FromWorker) => void = () => undefined;
  /** Called once, when the thread has ended or failed by itself. */
  onLost: (error: Error) => void = () => undefined;
  readonly #link: LogLink;
  readonly #slots: CommitSlots;
  readonly #ended = Promise.withResolvers<void>();
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  /** Whether all writes are answered, so that the thread may end. */
  #isClosing = false;
  #isStopped = false;
  /** The reason why the thread answers no more; `undefined` while it does. */
  #failure: Error | undefined;

  constructor(link: LogLink, slots: CommitSlots) {
    this.#link = link;
    this.#slots = slots;
    link.follow(
      (message) => this.#receive(message),
      (error) => {
        this.#fail(error);
        this.#ended.resolve();
      },
    );
  }

  /** Sends a message without a result. `transfer` is no longer usable here. */
  send(message: ToWorker, transfer: ArrayBuffer[]): void {
    this.#link.post(message, transfer);
  }

  /** Resolves with the result of a request. Rejects with `StorageFailure` when it fails, or the thread is gone. */
  request<K extends LogRequest["kind"]>(request: LogRequestOf<K>): Promise<LogResults[K]> {
    const failure = this.#isStopped ? new StorageFailure("the store is closed") : this.#failure;
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // Safe: the thread answers a request with the result of its kind.
      this.#pending.set(id, { resolve: resolve as (result: LogResult) => void, reject });
      this.#link.post({ kind: "request", id, request });
      this.#slots.call();
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
    await this.#link.end();
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
