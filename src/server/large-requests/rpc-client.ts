/** The client by which a thread calls the event loop: it sends calls and resolves them with the answers. */
import { errorOf } from "./failures.ts";
import type { FromThread, HostCall, HostCalls, ToThread } from "./messages.ts";

/** Calls the event loop and waits for its answer; rejects with the error of the event loop. */
export type CallHost = <Name extends keyof HostCalls>(
  name: Name,
  parameters: HostCalls[Name]["parameters"],
) => Promise<HostCalls[Name]["answer"]>;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class RpcClient {
  readonly #send: (message: FromThread) => void;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(send: (message: FromThread) => void) {
    this.#send = send;
  }

  readonly call: CallHost = (name, parameters) =>
    new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // Safe: the event loop answers each call with the type of the call's name.
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      this.#send({ type: "call", id, call: { name, parameters } as HostCall });
    });

  take(message: Exclude<ToThread, { readonly type: "job" }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(errorOf(message.failure));
  }
}
