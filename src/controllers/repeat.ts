/** Repeats work, with pauses, until it is done or the controller stops. */
import { pause } from "#std/clock.ts";
import type { ControllerEnvironment } from "./controller.ts";

/** Repeats `work`. `failure` is the sentence for the log when it rejects; it is then tried again after `retryMs`. */
export async function periodically(
  { clock, signal, log }: ControllerEnvironment,
  periodMs: number,
  failure: string,
  work: () => Promise<void>,
  retryMs = periodMs,
): Promise<void> {
  while (!signal.aborted) {
    let nextMs = periodMs;
    try {
      await work();
    } catch (err) {
      nextMs = retryMs;
      if (!signal.aborted) log.warn({ err }, failure);
    }
    await pause(clock, nextMs, signal);
  }
}

const retryPauseMs = 1000;

/** Tries until `work`, called `what` in logs, has succeeded once. */
export async function retryUntilDone(
  { clock, signal, log }: ControllerEnvironment,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, `could not ${what}; trying again`);
    }
    await pause(clock, retryPauseMs, signal);
  }
}
