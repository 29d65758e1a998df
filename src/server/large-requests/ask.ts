/** Calls from a thread to the event loop, and their answers. */
import { internalError, serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { isTooDeep, tooDeep } from "#std/too-deep.ts";
import { StorageRefusal, WriterReplaced } from "#storage/log-store.ts";
import { isTextTooLong, outgrown } from "./memory.ts";
import type { FromThread, ThreadQuestion, Questions, SentFailure, ToThread } from "./messages.ts";

/** Asks, and waits for the answer; rejects with what the event loop threw. */
export type Ask = <Name extends keyof Questions>(
  name: Name,
  ask: Questions[Name]["ask"],
) => Promise<Questions[Name]["answer"]>;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Asking {
  readonly #send: (message: FromThread) => void;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(send: (message: FromThread) => void) {
    this.#send = send;
  }

  readonly ask: Ask = (name, ask) =>
    new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // The event loop answers each question by its name.
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      this.#send({ type: "question", id, question: { name, ask } as ThreadQuestion });
    });

  take(message: Exclude<ToThread, { readonly type: "job" }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(errorOf(message.failure));
  }
}

/** The message form of an error. */
export function failureOf(error: unknown): SentFailure {
  if (error instanceof StatusError) return { status: error.status };
  if (error instanceof WriterReplaced) return { status: serviceUnavailable(error.message).status };
  if (error instanceof StorageRefusal) return { status: internalError(error.message).status };
  if (isTooDeep(error)) return { isTooDeep: true };
  if (isTextTooLong(error)) return { status: outgrown().status };
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** The error of a message. Either side takes values out of what it sends where they must not be seen. */
export function errorOf(failure: SentFailure): Error {
  if ("status" in failure) return new StatusError(failure.status, { showsValues: false });
  return "isTooDeep" in failure ? tooDeep() : new Error(failure.error);
}
