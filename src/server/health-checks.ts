/** The health checks of a running server. Steps of the start add their own. */
import type { Health } from "#http/health.ts";
import type { Clock } from "#std/clock.ts";
import { type Log, rateLimited } from "#std/log.ts";
import type { CacheHealth } from "#storage/watch-cache.ts";

export interface HealthSources {
  readonly store: CacheHealth;
  /** Resolves when the thread that owns the log has answered; absent without such a thread. */
  askThread?(): Promise<unknown>;
  /** Whether the indexes that decide about requests are in step with the store. */
  isSynced(): boolean;
  isStopping(): boolean;
  readonly clock: Clock;
}

const everywhere = ["healthz", "livez", "readyz"] as const;

/** The maximum time in milliseconds for an answer of the storage thread: longer than any of its steps. */
const threadPatienceMs = 10_000;

export function addHealthChecks(
  health: Health,
  { store, askThread, isSynced, isStopping, clock }: HealthSources,
): void {
  if (askThread !== undefined) {
    health.add({ name: "log", endpoints: everywhere, problem: threadProblem(askThread, clock) });
  }
  // Reads and deletions work while the disk is full, and a new start would not help.
  health.add({ name: "storage", endpoints: ["healthz", "livez"], problem: () => store.failure?.message });
  health.add({
    name: "storage",
    endpoints: ["readyz"],
    problem: () => store.failure?.message ?? store.full?.message,
  });
  health.add({
    name: "informer-sync",
    endpoints: ["readyz"],
    problem: () => (isSynced() ? undefined : "what decides about requests is not in step with the store"),
  });
  health.add({
    name: "shutdown",
    endpoints: ["readyz"],
    problem: () => (isStopping() ? "process is shutting down" : undefined),
  });
}

/** Returns a check that asks the thread, unless an earlier question still waits. Between checks nothing is asked. */
function threadProblem(ask: () => Promise<unknown>, clock: Clock): () => string | undefined {
  let askedMs: number | undefined;
  const answered = (): void => {
    askedMs = undefined;
  };
  return () => {
    if (askedMs === undefined) {
      askedMs = clock.monotonic();
      // A rejection is an answer too: another check reports a failed store.
      ask().then(answered, answered);
    }
    const waitedMs = clock.monotonic() - askedMs;
    return waitedMs < threadPatienceMs ? undefined : `the storage thread has not answered for ${waitedMs} ms`;
  };
}

/** Logs failed checks at a limited rate for each check, because anybody may request them as often as they like. */
export function healthFailures(
  clock: Clock,
  log: Pick<Log, "debug" | "warn">,
): (endpoint: string, check: string, problem: string) => void {
  const tellers = new Map<string, (problem: unknown) => void>();
  return (endpoint, check, problem) => {
    const key = `${endpoint} ${check}`;
    let tell = tellers.get(key);
    if (tell === undefined) {
      // Clients that wait for the start or the end poll often and expect this failure.
      const isExpected = check.startsWith("poststarthook/") || check === "shutdown";
      const say = (cause: unknown): void =>
        log[isExpected ? "debug" : "warn"]({ endpoint, check, problem: cause }, "health check failed");
      tell = rateLimited(clock, say);
      tellers.set(key, tell);
    }
    tell(problem);
  };
}
