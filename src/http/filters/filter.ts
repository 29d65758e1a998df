/**
 * The interface of filters. Every request passes each filter, which may answer, change the reply, or throw a
 * `StatusError`.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply } from "../api-request.ts";

/** Answers a request, synchronously if nothing has to be waited for. An error may be thrown or rejected. */
export type Handler = (request: ApiRequest) => MaybePromise<Reply>;

/** A step of the chain. `next` is the rest of the chain, the same function for every request. */
export type Filter = (request: ApiRequest, next: Handler) => MaybePromise<Reply>;

/** Combines filters, first to last, and the handler they guard. Built once; a request allocates nothing here. */
export function chainOf(filters: readonly Filter[], last: Handler): Handler {
  return filters.reduceRight<Handler>((next, filter) => (request) => filter(request, next), last);
}

/** Adds headers to the reply; names are in lower case. */
export function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

/** Adds a callback to the reply. It is called when the reply was written or given up, before earlier callbacks. */
export function whenDone(reply: Reply, done: () => void): Reply {
  return {
    ...reply,
    done() {
      done();
      reply.done?.();
    },
  };
}

/** Whether a reply goes on after it was returned, as long as its client or its source wants. */
export const isOpenEnded = ({ stream, tunnel }: Reply): boolean => stream !== undefined || tunnel !== undefined;
