/** Waiting for a signal, or until a signal ends it. */
import { isLate, type MaybePromise } from "./maybe-promise.ts";

/** Resolves when the signal is aborted. */
export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/**
 * Waits for the value until the signal is aborted; then it rejects with the reason of the signal, and what is waited for
 * goes on for others. A value that is there is returned, whatever the signal says.
 */
export function unlessAborted<T>(value: MaybePromise<T>, signal: AbortSignal | undefined): MaybePromise<T> {
  if (signal === undefined || !isLate(value)) return value;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error); // what the caller aborted with
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    value.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
