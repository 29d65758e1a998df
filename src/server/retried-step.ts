/** A step of the start that does not delay other steps and is repeated until it succeeds. */
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";

const retryMs = 1000;

/** Resolves after the first try. The returned function stops the repetition. */
export async function retriedStep(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  failure: string,
  attempt: () => Promise<void>,
): Promise<() => void> {
  let isStopped = false;
  let cancel: () => void = () => undefined;
  const once = async (): Promise<void> => {
    try {
      await attempt();
    } catch (error) {
      if (isStopped) return;
      log.warn({ error: String(error) }, `${failure}; trying again`);
      cancel = clock.after(retryMs, () => void once());
    }
  };
  await once();
  return () => {
    isStopped = true;
    cancel();
  };
}
