/** Limits the rate of log lines that clients and others may cause at will: about webhooks, health checks, connections. */
import type { Clock } from "#std/clock.ts";

const sayAgainMs = 10_000;

/** Calls `say` for the first cause, and again for the first one that comes ten seconds later; others are not told. */
export function seldom(clock: Clock, say: (error: unknown) => void): (error: unknown) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonic() - saidMs < sayAgainMs) return;
    saidMs = clock.monotonic();
    say(error);
  };
}
