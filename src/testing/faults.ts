/** Faults that a test asks for: wrong answers, lost answers, delays, and watches that are cut. */
import { AnswerLost, type ApiRequest, type Reply, type RequestInfo, type StreamSink } from "#http/api-request.ts";
import { type Clock, pause } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { durationMs } from "./test-clock.ts";

/** The requests that a fault meets: those that have all of the given values. Left out: any. */
export interface RequestMatch {
  /** The method, such as `PATCH`. */
  readonly method?: string;
  /** The verb as access rules name it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verb?: string;
  /** The API group; `""` for the core group. */
  readonly group?: string;
  /** The plural name of the resource, such as `configmaps`. */
  readonly resource?: string;
  /** The subresource; `""` for the objects themselves. */
  readonly subresource?: string;
  readonly namespace?: string;
  /** The name in the path. A create has its name in the body, which is not looked at. */
  readonly name?: string;
  /** The beginning of the user agent. */
  readonly userAgent?: string;
}

/** A fault, and how it looks to the client. */
export type RequestFault =
  /** The request is answered with this code, without being carried out. `retryAfter` is in seconds; 1 for 429. */
  | { readonly answer: number; readonly message?: string; readonly retryAfter?: number }
  /** The request is carried out, but its connection is cut before the answer. */
  | { readonly lose: true }
  /** The request is carried out after this time: `"2s"`, or milliseconds. */
  | { readonly delay: string | number };

interface PlannedFault {
  readonly match: RequestMatch;
  readonly fault: RequestFault;
  times: number;
}

interface OpenWatch {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  sink: StreamSink | undefined;
}

export class Faults {
  readonly #clock: Clock;
  #planned: PlannedFault[] = [];
  readonly #watches = new Set<OpenWatch>();
  #stop = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Plans a fault for the next `times` requests that match. Throws `RangeError` for a fault that cannot be. */
  plan(match: RequestMatch, fault: RequestFault, times: number): void {
    checkFault(fault, times);
    this.#planned.push({ match, fault, times });
  }

  /** Forgets planned faults. Delayed requests go on. */
  clear(): void {
    this.#planned = [];
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** Answers a request, by `next` or by the first fault that matches. Rejects with `AnswerLost` to cut the connection. */
  async answer(request: ApiRequest, info: RequestInfo, next: () => MaybePromise<Reply>): Promise<Reply> {
    const fault = this.#take(request, info);
    if (fault === undefined) return this.#watched(request, info, await next());
    if ("answer" in fault) return refusal(info, fault);
    if ("delay" in fault) {
      await pause(this.#clock, durationMs(fault.delay), AbortSignal.any([this.#stop.signal, request.signal]));
      return this.#watched(request, info, await next());
    }
    giveUp(await next());
    throw new AnswerLost("the answer was lost on purpose");
  }

  /** Cuts the connections of running watches. Returns their number. */
  dropWatches(match: RequestMatch): number {
    const dropped = [...this.#watches].filter(({ request, info }) => matches(match, request, info));
    for (const { sink } of dropped) {
      sink?.onClose?.();
      sink?.abort?.();
    }
    return dropped.length;
  }

  #take(request: ApiRequest, info: RequestInfo): RequestFault | undefined {
    const planned = this.#planned.find(({ match }) => matches(match, request, info));
    if (planned === undefined) return undefined;
    planned.times--;
    if (planned.times === 0) this.#planned.splice(this.#planned.indexOf(planned), 1);
    return planned.fault;
  }

  /** Follows the stream of a watch, so that it can be cut. */
  #watched(request: ApiRequest, info: RequestInfo, reply: Reply): Reply {
    const { stream } = reply;
    if (info.verb !== "watch" || stream === undefined) return reply;
    const watch: OpenWatch = { request, info, sink: undefined };
    this.#watches.add(watch);
    return {
      code: reply.code,
      ...(reply.headers === undefined ? {} : { headers: reply.headers }),
      ...(reply.contentType === undefined ? {} : { contentType: reply.contentType }),
      stream: {
        open: (sink) => {
          watch.sink = sink;
          stream.open(sink);
        },
      },
      done: () => {
        this.#watches.delete(watch);
        reply.done?.();
      },
    };
  }
}

function checkFault(fault: RequestFault, times: number): void {
  const kinds = ["answer", "lose", "delay"].filter((kind) => kind in fault);
  if (kinds.length !== 1) throw new RangeError("a fault has one of answer, lose and delay");
  if ("answer" in fault && !(Number.isInteger(fault.answer) && fault.answer >= 400 && fault.answer < 600)) {
    throw new RangeError(`a fault answers with a code from 400 to 599, not ${JSON.stringify(fault.answer)}`);
  }
  if ("delay" in fault) durationMs(fault.delay);
  if (!Number.isInteger(times) || times < 1) throw new RangeError("a fault happens once or more often");
}

function matches(match: RequestMatch, request: ApiRequest, info: RequestInfo): boolean {
  const { method, userAgent, ...fields } = match;
  if (method !== undefined && method.toUpperCase() !== request.method) return false;
  if (userAgent !== undefined && request.headers["user-agent"]?.startsWith(userAgent) !== true) return false;
  const { verb, group, resource, subresource, namespace, name } = info;
  const has: Readonly<Record<string, string>> = { verb, group, resource, subresource, namespace, name };
  return Object.entries(fields).every(([field, wanted]) => wanted === undefined || has[field] === wanted);
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function refusal(
  { name, group, resource }: RequestInfo,
  {
    answer,
    message = `a fault that the test asked for: ${answer}`,
    retryAfter,
  }: Extract<RequestFault, { answer: number }>,
): Reply {
  const seconds = retryAfter ?? (answer === 429 ? 1 : undefined);
  const details = {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    ...(resource === "" ? {} : { kind: resource }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  };
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: reasons[answer] ?? "Unknown",
    details,
    code: answer,
  };
  return {
    code: answer,
    contentType: "application/json",
    ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
    bytes: Buffer.from(JSON.stringify(status)),
  };
}

/** Ends a reply that nobody gets. */
function giveUp(reply: Reply): void {
  const sink: StreamSink = { write: () => false, blocked: true, onDrain: undefined, onClose: undefined, end() {} };
  reply.stream?.open(sink);
  sink.onClose?.();
  reply.tunnel?.connection.destroy();
  reply.done?.();
}
