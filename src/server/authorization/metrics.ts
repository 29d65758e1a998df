/** Metrics of authorization, with kube-apiserver's names. */
import type { Authorizer, Verdict } from "#authz/authorizer.ts";
import type { Clock } from "#std/clock.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { Metrics } from "#std/metrics.ts";

import { attemptMetrics } from "../attempt-metrics.ts";

/** Returns the authorizer with metrics: it counts and times every answer. */
export function observedAuthorizer(inner: Authorizer, metrics: Metrics, clock: Clock): Authorizer {
  const count = attemptMetrics({
    metrics,
    clock,
    attempts: {
      name: "authorization_attempts_total",
      help: "Requests whose rights were checked, by result.",
    },
    durations: {
      name: "authorization_duration_seconds",
      help: "Time for which rights are checked, by result.",
    },
  });
  const record = (verdict: Verdict, startedMs: number): Verdict => {
    count(resultOf(verdict), startedMs);
    return verdict;
  };
  return {
    ...inner,
    authorize(attributes) {
      const startedMs = clock.monotonic();
      const verdict = inner.authorize(attributes);
      // Runs for every request, so it makes no closure for a verdict that is not a promise.
      return isLate(verdict) ? verdict.then((late) => record(late, startedMs)) : record(verdict, startedMs);
    },
  };
}

function resultOf(verdict: Verdict): string {
  if (verdict.decision === "allow") return "allowed";
  if (verdict.error !== undefined) return "error";
  return verdict.decision === "deny" ? "denied" : "no-opinion";
}
