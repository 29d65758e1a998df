/**
 * One thread that owns the logs of many small stores: a thread of its own would cost each some 30 MB. Each log has a port for
 * its messages, and turns of the thread: one transaction, or one step of a job.
 */
import { MessageChannel, type Worker } from "node:worker_threads";

import { startThread } from "#std/thread.ts";

import { StoreFailed } from "../log-store.ts";
import type { FromWorker, LogFolder, SharedLogStart } from "./messages.ts";
import type { LogLink } from "./worker-client.ts";

export class SharedLogThread {
  #worker: Worker | undefined;
  /** Called when the thread has ended or failed by itself. */
  readonly #lost = new Set<(error: Error) => void>();

  /** Lets the thread open a log. It is started for the first one. */
  open(start: Required<LogFolder>): LogLink {
    const worker = (this.#worker ??= this.#begin());
    const { port1: own, port2: port } = new MessageChannel();
    worker.postMessage({ port, start } satisfies SharedLogStart, [port]);
    let lost: ((error: Error) => void) | undefined;
    return {
      post: (message, transfer = []) => own.postMessage(message, transfer),
      follow: (take, lose) => {
        lost = lose;
        this.#lost.add(lose);
        own.on("message", (message: FromWorker) => take(message));
        // The thread closes the port with the log.
        own.on("close", () => lose(new StoreFailed("its log was closed")));
      },
      end: async () => {
        if (lost !== undefined) this.#lost.delete(lost);
        own.close();
      },
    };
  }

  /** Ends the thread, whose logs are closed. */
  async close(): Promise<void> {
    this.#lost.clear();
    await this.#worker?.terminate();
  }

  #begin(): Worker {
    const worker = startThread(import.meta.resolve("#storage/sqlite/shared-worker.ts"), {
      name: "binnacle-planes",
      // All it allocates is short-lived.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    worker.on("exit", (code) => this.#end(new StoreFailed(`the thread of the planes ended with code ${code}`)));
    worker.on("error", (error) => this.#end(new StoreFailed("the thread of the planes failed", { cause: error })));
    return worker;
  }

  #end(error: Error): void {
    this.#worker = undefined;
    const lost = [...this.#lost];
    this.#lost.clear();
    for (const lose of lost) lose(error);
  }
}
