/**
 * Limits concurrent requests, reads and writes separately; further requests are told to retry. Long-running requests do
 * not count, and members of `system:masters` are exempt. Source: upstream's `maxinflight`.
 */
import { tooManyRequests } from "#meta/status-error.ts";
import { groupMasters } from "#meta/user-info.ts";
import { andThen, attempt } from "#std/maybe-promise.ts";
import type { Reply } from "../api-request.ts";
import { isLongRunning } from "../request-info.ts";
import type { Filter } from "./filter.ts";

interface MaxInFlightOptions {
  /** The values of `--max-requests-inflight` and `--max-mutating-requests-inflight`; 0 is no limit. */
  readonly reads: number;
  readonly writes: number;
  /** Called after each change with the numbers of running requests. */
  readonly observe?: (reads: number, writes: number) => void;
}

export function maxInFlight({ reads, writes, observe }: MaxInFlightOptions): Filter {
  const reading = { count: 0, limit: reads };
  const writing = { count: 0, limit: writes };
  return (request, next) => {
    if (isLongRunning(request.info)) return next(request);
    const kind = readVerbs.has(request.info.verb) ? reading : writing;
    if (kind.limit > 0 && kind.count >= kind.limit) {
      if (request.user.groups.includes(groupMasters)) return next(request);
      throw tooManyRequests("Too many requests, please try again later.", 1);
    }
    kind.count++;
    observe?.(reading.count, writing.count);
    const leave = (): void => {
      kind.count--;
      observe?.(reading.count, writing.count);
    };
    const failed = (error: unknown): never => {
      leave();
      throw error;
    };
    const answered = (reply: Reply): Reply => {
      leave();
      return reply;
    };
    return andThen(attempt(next, request, failed), answered);
  };
}

const readVerbs = new Set(["get", "list", "watch"]);
