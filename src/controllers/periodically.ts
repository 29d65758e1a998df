/** Repeats a task, with pauses, until the controller stops. */
import { pause } from "#client/reflector.ts";
import type { ControllerEnvironment } from "./controller.ts";

/** `failure` is the sentence for the log when `work` rejects; the next pause follows all the same. */
export async function periodically(
  { clock, signal, log }: ControllerEnvironment,
  periodMs: number,
  failure: string,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, failure);
    }
    await pause(clock, periodMs, signal);
  }
}
