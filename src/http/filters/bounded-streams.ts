/**
 * Refuses a watch or another stream when too many are open. The filter stands behind those that observe requests, so that
 * metrics, the audit log and traces show the refusal.
 */
import { tooManyRequests } from "#meta/status-error.ts";
import { andThen } from "#std/maybe-promise.ts";
import { closedSink } from "../closed-sink.ts";
import type { Filter } from "./filter.ts";

export const boundedStreams: Filter = (request, next) =>
  andThen(next(request), (reply) => {
    if (reply.stream === undefined || request.beginStream?.() !== false) return reply;
    reply.stream.open(closedSink());
    reply.done?.();
    throw tooManyRequests("too many watches and other streams are open, please try again later", 1);
  });
