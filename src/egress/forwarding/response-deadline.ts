/**
 * Limits the time for which a call waits for the head of its answer: until its deadline, or until its client has gone.
 */
import type { Clock } from "#std/clock.ts";
import { OutgoingError } from "../outgoing-https.ts";
import { hostPort, type ServiceAddress } from "../service-address.ts";
import type { Forwarded } from "./call.ts";

export class ResponseDeadline {
  readonly #signal: AbortSignal;
  readonly #cancel: () => void;
  readonly #abort = (): void => this.#lose(new OutgoingError("ABORTED", "the call was given up"));
  #error: OutgoingError | undefined;
  #lost: ((error: OutgoingError) => void) | undefined;

  constructor({ headMs, signal }: Pick<Forwarded, "headMs" | "signal">, address: ServiceAddress, clock: Clock) {
    this.#signal = signal;
    const late = (): void =>
      this.#lose(new OutgoingError("TIMEOUT", `no answer from ${hostPort(address)} within ${headMs}ms`));
    this.#cancel = headMs === Number.POSITIVE_INFINITY ? () => undefined : clock.after(headMs, late);
    signal.addEventListener("abort", this.#abort, { once: true });
    if (signal.aborted) this.#abort();
  }

  get hasPassed(): boolean {
    return this.#error !== undefined;
  }

  /** Throws when the deadline has passed. */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Waits for a step of the call. If the deadline passes first, the promise rejects, and `giveUp` ends the step. */
  during<T>(step: Promise<T>, giveUp?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#lost = (error) => {
        reject(error);
        giveUp?.();
      };
      step.then(resolve, reject);
      if (this.#error !== undefined) this.#lost(this.#error);
    });
  }

  /** Removes the limit: the call has ended, or its answer has begun. */
  end(): void {
    this.#lost = undefined;
    this.#cancel();
    this.#signal.removeEventListener("abort", this.#abort);
  }

  #lose(error: OutgoingError): void {
    this.#error ??= error;
    this.#lost?.(error);
  }
}
