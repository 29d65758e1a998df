/** Limits the rate of log lines about a webhook that gives no answers. */
import type { Clock } from "#std/clock.ts";

const sayAgainMs = 10_000;

/** Calls `say` for the first error, and again for the first one ten seconds later. */
export function seldom(clock: Clock, say: (error: unknown) => void): (error: unknown) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonic() - saidMs < sayAgainMs) return;
    saidMs = clock.monotonic();
    say(error);
  };
}
