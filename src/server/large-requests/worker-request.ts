/** A request inside a thread of large requests, in the form that the router and handlers read. */
import type { HandledRequest } from "#http/api-request.ts";
import { parseQuery } from "#http/request-info.ts";
import type { CallHost } from "./rpc-client.ts";
import type { SentRequest } from "./messages.ts";
import { bufferOf } from "./worker-cache.ts";

export function workerRequest({ given, isAudited, body }: SentRequest, callHost: CallHost): HandledRequest {
  const { url, headers } = given;
  const queryStart = url.indexOf("?");
  const audit = {
    wantsRequest: true,
    sent: (object: unknown) => void callHost("sent", Buffer.from(JSON.stringify(object))),
    sentPatch: () => void callHost("sent", undefined),
  };
  return {
    ...given,
    query: parseQuery(queryStart < 0 ? "" : url.slice(queryStart + 1)),
    remoteAddress: "",
    signal: new AbortController().signal,
    aborted: false,
    warnings: [],
    audit: isAudited ? audit : undefined,
    headerValues(name) {
      const value = headers[name];
      return value === undefined ? [] : [value];
    },
    /** Does nothing: the event loop annotates the audit event. */
    annotate() {},
    /** Does nothing: the thread of an ended request is ended too. */
    abort() {},
    body: () => Promise.resolve(bufferOf(body)),
  };
}
