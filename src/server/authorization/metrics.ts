/** Metrics of what is decided about requests: kube-apiserver's names. */
import type { Authorizer, Verdict } from "#authz/authorizer.ts";
import type { Clock } from "#std/clock.ts";
import type { Metrics } from "#std/metrics.ts";

/** Upper bounds in seconds: a doubling from a millisecond on. */
const buckets = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);

/** The authorizer, with every answer counted and timed. Hot path: a few numbers for each request. */
export function observedAuthorizer(inner: Authorizer, metrics: Metrics, clock: Clock): Authorizer {
  const attempts = metrics.counter({
    name: "authorization_attempts_total",
    help: "Counter of authorization attempts broken down by result.",
    labels: ["result"],
  });
  const durations = metrics.histogram({
    name: "authorization_duration_seconds",
    help: "Authorization duration in seconds broken out by result.",
    labels: ["result"],
    buckets,
  });
  const counted = (result: string) => () => ({ attempts: attempts.with(result), durations: durations.with(result) });
  const results = {
    allow: once(counted("allowed")),
    deny: once(counted("denied")),
    noOpinion: once(counted("no-opinion")),
    error: once(counted("error")),
  };
  const record = (verdict: Verdict, startedMs: number): Verdict => {
    const isUndecided = verdict.decision !== "allow" && verdict.error !== undefined;
    const of = results[isUndecided ? "error" : verdict.decision]();
    of.attempts.add();
    of.durations.observe((clock.monotonic() - startedMs) / 1000);
    return verdict;
  };
  return {
    ...inner,
    authorize(attributes) {
      const startedMs = clock.monotonic();
      const verdict = inner.authorize(attributes);
      return verdict instanceof Promise ? verdict.then((late) => record(late, startedMs)) : record(verdict, startedMs);
    },
  };
}

/** Made when it is first wanted: a result that never was is not among the metrics. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
