/**
 * Counts every request and its answer, including errors, under kube-apiserver's metric names, and logs it if
 * configured.
 */
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply } from "./api-request.ts";
import { type Filter, isOpenEnded, whenDone } from "./filters/filter.ts";
import { isLongRunning, printedTarget } from "./request-info.ts";
import type { RequestMetrics } from "./request-metrics.ts";

/** Makes the `observe` filter of the chain. Long-running requests are counted and logged when they end. */
export function recordRequests(metrics: RequestMetrics, clock: Clock, log: Log): Filter {
  const isLogged = log.enabled("debug");
  return (request, next) => {
    const started = clock.monotonic();
    const record = (code: number, bytes: number): void => {
      const ms = clock.monotonic() - started;
      metrics.record(request, code, ms / 1000, bytes);
      if (isLogged) log.debug(lineOf(request, code, ms), "HTTP");
    };
    return andThen(next(request), (reply) => {
      const { code } = reply;
      if (code === 429 || code === 504) metrics.terminated(request, code);
      if (reply.chunks !== undefined) return whenDone(reply, () => record(code, lengthOf(reply)));
      if (!isOpenEnded(reply) || !isLongRunning(request.info)) {
        record(code, lengthOf(reply));
        return reply;
      }
      const underWay = metrics.longRunning(request);
      underWay.add(1);
      return whenDone(reply, () => {
        underWay.add(-1);
        record(code, 0);
      });
    });
  };
}

const uriLengthMax = 1000;

/** The fields of a log line, with upstream's keys. The only header is `User-Agent`: credentials never reach the log. */
function lineOf(request: ApiRequest, code: number, ms: number): object {
  return {
    verb: request.info.verb,
    URI: printedTarget(request.url.slice(0, uriLengthMax)),
    latency: `${ms.toFixed(1)}ms`,
    userAgent: (request.headers["user-agent"] ?? "").slice(0, uriLengthMax),
    "audit-ID": request.auditId,
    srcIP: request.remoteAddress,
    resp: code,
  };
}

function lengthOf({ bytes, pieces, chunks }: Reply): number {
  if (chunks !== undefined) return chunks.length;
  if (pieces !== undefined) return pieces.length;
  if (bytes === undefined) return 0;
  return Buffer.isBuffer(bytes) ? bytes.length : bytes.reduce((sum, piece) => sum + piece.length, 0);
}
