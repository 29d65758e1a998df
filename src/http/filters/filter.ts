/**
 * The interface of filters: a step every request passes. A filter may answer, change the reply, or throw a
 * `StatusError`.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply } from "../api-request.ts";

/** Answers synchronously when nothing has to be waited for. An error may be thrown or rejected. */
export type Handler = (request: ApiRequest) => MaybePromise<Reply>;

/** `next` is the rest of the chain; it is the same function for every request. */
export type Filter = (request: ApiRequest, next: Handler) => MaybePromise<Reply>;

/** Combines filters, first to last, and the handler they guard. Built once; a request allocates nothing here. */
export function chainOf(filters: readonly Filter[], last: Handler): Handler {
  return filters.reduceRight<Handler>((next, filter) => (request) => filter(request, next), last);
}

/** The reply with more headers; names in lower case. */
export function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

/** The reply, with something more to do once it was written or given up, before all else. */
export function whenDone(reply: Reply, done: () => void): Reply {
  return {
    ...reply,
    done() {
      done();
      reply.done?.();
    },
  };
}
