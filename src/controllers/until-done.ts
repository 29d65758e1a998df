/** Retries a task until it succeeds or the controller stops. */
import { pause } from "#client/reflector.ts";
import type { ControllerEnvironment } from "./controller.ts";

const retryMs = 1000;

/** `what` names the work in logs. */
export async function untilDone(
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
    await pause(clock, retryMs, signal);
  }
}
