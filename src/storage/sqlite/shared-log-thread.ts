/**
 * One thread that owns the logs of many small stores: a thread of its own would cost each some 30 MB. Their messages share a
 * port, since Node looks at all ports for each message; each log has turns of the thread: one transaction, or one step of a job.
 */
import type { Worker } from "node:worker_threads";

import { startThread } from "#std/thread.ts";

import { StoreFailed } from "../log-store.ts";
import type { FromSharedWorker, FromWorker, LogFolder, ToSharedWorker } from "./messages.ts";
import type { LogLink } from "./worker-client.ts";

/** The main thread's side of a log. */
interface Follower {
  readonly take: (message: FromWorker) => void;
  /** Called when the thread has ended or failed by itself, or the log is closed. */
  readonly lose: (error: Error) => void;
}

export class SharedLogThread {
  #worker: Worker | undefined;
  readonly #followers = new Map<number, Follower>();
  #lastLog = 0;

  /** Lets the thread open a log. It is started for the first one. */
  open(start: Required<LogFolder>): LogLink {
    const worker = (this.#worker ??= this.#begin());
    const log = ++this.#lastLog;
    const post = (content: ToSharedWorker["content"], transfer: ArrayBuffer[] = []): void =>
      worker.postMessage({ log, content } satisfies ToSharedWorker, transfer);
    post({ kind: "start", start });
    return {
      post,
      follow: (take, lose) => void this.#followers.set(log, { take, lose }),
      end: async () => void this.#followers.delete(log),
    };
  }

  /** Ends the thread, whose logs are closed. */
  async close(): Promise<void> {
    this.#followers.clear();
    await this.#worker?.terminate();
  }

  #begin(): Worker {
    const worker = startThread(import.meta.resolve("#storage/sqlite/shared-worker.ts"), {
      name: "binnacle-planes",
      // All it allocates is short-lived.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    worker.on("message", ({ log, content }: FromSharedWorker) => {
      const follower = this.#followers.get(log);
      if (content === undefined) follower?.lose(new StoreFailed("its log was closed"));
      else follower?.take(content);
    });
    worker.on("exit", (code) => this.#end(new StoreFailed(`the thread of the planes ended with code ${code}`)));
    worker.on("error", (error) => this.#end(new StoreFailed("the thread of the planes failed", { cause: error })));
    return worker;
  }

  #end(error: Error): void {
    this.#worker = undefined;
    const followers = [...this.#followers.values()];
    this.#followers.clear();
    for (const { lose } of followers) lose(error);
  }
}
