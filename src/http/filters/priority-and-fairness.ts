/**
 * Applies priority and fairness: a request runs at once, waits in its queue, or is refused (429). Source: upstream's
 * `priority-and-fairness` filter.
 */
import type { Claimed, FlowControl } from "#flowcontrol/flow-control.ts";
import type { QueuedRequest } from "#flowcontrol/queued-request.ts";
import type { WatchCounts } from "#flowcontrol/watch-counts.ts";
import { StatusError, tooManyRequests } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply, ReplyStream } from "../api-request.ts";
import { isLongRunning } from "../request-info.ts";
import type { ErrorReply } from "./catch-errors.ts";
import { type Filter, type Handler, whenDone, withHeaders } from "./filter.ts";

export interface PriorityAndFairnessOptions {
  readonly control: FlowControl;
  readonly watches: WatchCounts;
  readonly clock: Clock;
  /** The maximum time in a queue for a request without a deadline. */
  readonly waitLimitMs: number;
  readonly errorReply: ErrorReply;
  /** Called after each change with the numbers of running requests. */
  readonly observe?: (reads: number, writes: number) => void;
}

const waitMaxMs = 60_000;
/** The time after which a client that still reads the beginning of its watch loses its seats. */
const beginningMaxMs = 60_000;

export function priorityAndFairness(options: PriorityAndFairnessOptions): Filter {
  const gate = new Gate(options);
  return (request, next) => gate.handle(request, next);
}

class Gate {
  readonly #options: PriorityAndFairnessOptions;
  readonly #running = { reads: 0, writes: 0 };

  constructor(options: PriorityAndFairnessOptions) {
    this.#options = options;
  }

  handle(request: ApiRequest, next: Handler): MaybePromise<Reply> {
    const { control, clock } = this.#options;
    const { info } = request;
    if (info.verb !== "watch" && isLongRunning(info)) return next(request);
    const claimed = control.claim(request);
    const { queued } = claimed;
    if (queued.state === "executing") return this.#run(request, next, claimed);
    if (queued.state === "refused") return this.#refuse(request, claimed);
    const startedMs = clock.monotonic();
    return decision(clock, request, queued, this.#patience(request)).then(() => {
      request.queuedMs = clock.monotonic() - startedMs;
      return queued.state === "executing" ? this.#run(request, next, claimed) : this.#refuse(request, claimed);
    });
  }

  #run(request: ApiRequest, next: Handler, claimed: Claimed): MaybePromise<Reply> {
    const { queued } = claimed;
    request.seats = queued;
    this.#count(queued, 1);
    let reply: MaybePromise<Reply>;
    try {
      reply = next(request);
    } catch (error) {
      return this.#fail(request, claimed, error);
    }
    if (!isLate(reply)) return this.#answer(request, claimed, reply);
    return reply.then(
      (late) => this.#answer(request, claimed, late),
      (error: unknown) => this.#fail(request, claimed, error),
    );
  }

  #count({ isRead }: QueuedRequest, by: number): void {
    const running = this.#running;
    running[isRead ? "reads" : "writes"] += by;
    this.#options.observe?.(running.reads, running.writes);
  }

  #refuse(request: ApiRequest, { flow, queued }: Claimed): Reply {
    const error = tooManyRequests("Too many requests, please try again later.", queued.level.retryAfter.seconds);
    return withHeaders(this.#options.errorReply(request, error), flow.headers);
  }

  #fail(request: ApiRequest, { flow, queued }: Claimed, error: unknown): Reply {
    this.#count(queued, -1);
    queued.end();
    // An error of the server itself is reported and logged elsewhere.
    if (!(error instanceof StatusError) || (error.status.code >= 500 && error.cause !== undefined)) throw error;
    return withHeaders(this.#options.errorReply(request, error), flow.headers);
  }

  #answer(request: ApiRequest, { flow, queued }: Claimed, reply: Reply): Reply {
    this.#count(queued, -1);
    const { headers, stream } = reply;
    const marked = { ...reply, headers: headers === undefined ? flow.headers : { ...headers, ...flow.headers } };
    if (stream !== undefined && request.info.verb === "watch") return this.#countWatch(request, queued, marked, stream);
    // An answer that is made while it is written waits for turns of the loop.
    if (reply.chunks !== undefined) queued.slow();
    // A large answer keeps its seats until it is written, so that only a few such answers are in memory.
    if (reply.pieces !== undefined || reply.chunks !== undefined)
      return whenDone(marked, this.#keepSeats(queued, request.deadlineMs));
    queued.end();
    return marked;
  }

  /** Lets a watch keep its seats until it has started, and counts it for the estimate of writes while it lives. */
  #countWatch(request: ApiRequest, queued: QueuedRequest, reply: Reply, stream: ReplyStream): Reply {
    const { clock, watches } = this.#options;
    if (stream.hasBeginning === true) {
      queued.slow();
      stream.onBegun = this.#keepSeats(queued, clock.now() + beginningMaxMs);
    } else queued.end();
    return whenDone(reply, watches.began(request.info, request.url));
  }

  /** Keeps the seats until the returned function is called, or the time limit has passed. */
  #keepSeats(queued: QueuedRequest, untilMs: number): () => void {
    const { clock } = this.#options;
    const cancel = clock.after(Math.max(0, untilMs - clock.now()), () => queued.end());
    return () => {
      cancel();
      queued.end();
    };
  }

  /** Returns the milliseconds for which a request may still wait: a quarter of its time is for that. */
  #patience({ receivedMs, deadlineMs }: ApiRequest): number {
    const { clock, waitLimitMs } = this.#options;
    const waitMs = deadlineMs === Number.POSITIVE_INFINITY ? waitLimitMs : (deadlineMs - receivedMs) / 4;
    return receivedMs + Math.min(waitMs, waitMaxMs) - clock.now();
  }
}

/** Resolves when the request in the queue need not wait any longer. */
function decision(clock: Clock, request: ApiRequest, queued: QueuedRequest, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const { signal } = request;
    const gone = (): void => queued.giveUp("cancelled");
    const cancel = clock.after(Math.max(0, limitMs), () => queued.giveUp("time-out"));
    signal.addEventListener("abort", gone, { once: true });
    queued.decided = () => {
      cancel();
      signal.removeEventListener("abort", gone);
      resolve();
    };
    if (signal.aborted) gone();
  });
}
