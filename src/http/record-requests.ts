/** Counts every request and its answer, errors included, under kube-apiserver's metric names. */
import type { Clock } from "#std/clock.ts";
import type { Reply } from "./api-request.ts";
import type { Filter } from "./filters/filter.ts";
import { isLongRunning } from "./request-info.ts";
import type { RequestMetrics } from "./request-metrics.ts";

/** For `observe` of the chain. Long-running requests are counted when they end. */
export function recordRequests(metrics: RequestMetrics, clock: Clock): Filter {
  return async (request, next) => {
    const started = clock.monotonic();
    const reply = await next(request);
    const { code } = reply;
    if (code === 429 || code === 504) metrics.terminated(request, code);
    if (reply.stream === undefined || !isLongRunning(request.info)) {
      metrics.record(request, code, (clock.monotonic() - started) / 1000, lengthOf(reply));
      return reply;
    }
    const underWay = metrics.longRunning(request);
    underWay.add(1);
    return {
      ...reply,
      done() {
        underWay.add(-1);
        metrics.record(request, code, (clock.monotonic() - started) / 1000, 0);
        reply.done?.();
      },
    };
  };
}

function lengthOf({ bytes, pieces }: Reply): number {
  if (pieces !== undefined) return pieces.length;
  if (bytes === undefined) return 0;
  return Buffer.isBuffer(bytes) ? bytes.length : bytes.reduce((sum, piece) => sum + piece.length, 0);
}
