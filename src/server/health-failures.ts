/** The lines of the log about health checks that fail: anybody may ask for them, and as often as they like. */
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { seldom } from "./seldom.ts";

/** Tells of each check now and then. */
export function healthFailures(
  clock: Clock,
  log: Pick<Log, "debug" | "warn">,
): (endpoint: string, check: string, problem: string) => void {
  const tellers = new Map<string, (problem: unknown) => void>();
  return (endpoint, check, problem) => {
    const key = `${endpoint} ${check}`;
    let tell = tellers.get(key);
    if (tell === undefined) {
      // Clients that wait for the start or the end poll often and expect this answer.
      const isExpected = check.startsWith("poststarthook/") || check === "shutdown";
      const say = (found: unknown): void =>
        log[isExpected ? "debug" : "warn"]({ endpoint, check, problem: found }, "health check failed");
      tell = seldom(clock, say);
      tellers.set(key, tell);
    }
    tell(problem);
  };
}
