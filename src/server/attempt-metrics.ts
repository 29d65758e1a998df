/** Metrics of attempts with a few possible results: count and duration. */
import type { Clock } from "#std/clock.ts";
import type { Counter, Histogram, Metrics } from "#std/metrics.ts";

/** Upper bounds in seconds: each is twice the bound before it, from one millisecond on. */
const buckets = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);

interface Named {
  readonly name: string;
  readonly help: string;
}

interface AttemptMetricsOptions {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly attempts: Named;
  readonly durations: Named;
}

/**
 * Returns the function that counts and times an attempt that began at `startedMs` and ends now. The metrics have only
 * results that occurred. Hot path: a few additions for each request.
 */
export function attemptMetrics(options: AttemptMetricsOptions): (result: string, startedMs: number) => void {
  const { metrics, clock } = options;
  const attempts = metrics.counter({ ...options.attempts, labels: ["result"] });
  const durations = metrics.histogram({ ...options.durations, labels: ["result"], buckets });
  const byResult = new Map<string, { readonly attempts: Counter; readonly durations: Histogram }>();
  return (result, startedMs) => {
    let of = byResult.get(result);
    if (of === undefined) {
      of = { attempts: attempts.with(result), durations: durations.with(result) };
      byResult.set(result, of);
    }
    of.attempts.add();
    of.durations.observe((clock.monotonic() - startedMs) / 1000);
  };
}
