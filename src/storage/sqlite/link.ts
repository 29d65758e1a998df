/** The main thread's side of the thread that owns the log (`worker.ts`): messages, and questions with their answers. */
import { startThread } from "#std/thread.ts";

import { StorageFailure, StoreFailed } from "../log-store.ts";
import type { Answers, FromWorker, Mailbox, Question, ToWorker, WorkerStart } from "./messages.ts";

/** The worker, its questions and answers. */
export interface Link {
  onMessage: (message: FromWorker) => void;
  onLost: (error: Error) => void;
  send(message: ToWorker, handOver: ArrayBuffer[]): void;
  ask<K extends Question["kind"]>(question: Extract<Question, { kind: K }>): Promise<Answers[K]>;
  /** Lets the worker close the file, and ends it. */
  stop(): Promise<void>;
}

/** Starts the thread that owns the log. */
export function startWorker(start: WorkerStart, mailbox: Mailbox): Link {
  const worker = startThread(import.meta.resolve("#storage/sqlite/worker.ts"), {
    workerData: start,
    name: "binnacle-storage",
    // All it allocates is short-lived. Measured: 30 MB less after loading 100,000 objects, no slower.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const asked = new Map<
    number,
    { resolve: (answer: Answers[keyof Answers]) => void; reject: (error: Error) => void }
  >();
  let lastId = 0;
  /** All writes are answered: the thread may end. */
  let isClosing = false;
  let isStopping = false;
  /** Why the thread answers no more. */
  let gone: Error | undefined;
  const lost = (error: Error): void => {
    if (gone !== undefined) return;
    gone = error;
    for (const { reject } of asked.values()) reject(error);
    asked.clear();
    if (!isClosing) link.onLost(error);
  };
  const link: Link = {
    onMessage: () => undefined,
    onLost: () => undefined,
    send: (message, handOver) => worker.postMessage(message, handOver),
    ask: (question) =>
      new Promise((resolve, reject) => {
        const why = isStopping ? new StorageFailure("the store is closed") : gone;
        if (why !== undefined) {
          reject(why);
          return;
        }
        const id = ++lastId;
        // Safe: the worker answers a question with the answer of its kind.
        asked.set(id, { resolve: resolve as (answer: Answers[keyof Answers]) => void, reject });
        worker.postMessage({ kind: "ask", id, question } satisfies ToWorker);
        mailbox.call();
      }),
    stop: async () => {
      isClosing = true;
      if (gone === undefined) await Promise.race([link.ask({ kind: "close" }).catch(() => undefined), ended]);
      isStopping = true;
      lost(new StorageFailure("the store is closed"));
      await worker.terminate();
    },
  };
  const ended = new Promise<void>((resolve) => {
    worker.on("exit", (code) => {
      lost(new StoreFailed(`its thread ended with code ${code}`));
      resolve();
    });
  });
  worker.on("error", (error) => lost(new StoreFailed("its thread failed", { cause: error })));
  worker.on("message", (message: FromWorker) => {
    if (typeof message === "number" || (message.kind !== "answer" && message.kind !== "error")) {
      link.onMessage(message);
      return;
    }
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if (message.kind === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(new StorageFailure(message.message));
  });
  return link;
}
