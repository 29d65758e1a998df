/**
 * Limits the duration of requests to the server's maximum, or to the client's `timeout`; long-running requests are
 * excluded. At the deadline the request is answered with 504 and its work aborted. Source: upstream's
 * `request_deadline` and `timeout` filters.
 *
 * Hot path: running requests are in one list that is checked ten times a second, since a timer each would cost more
 * than most requests. The answer may come a tenth of a second late.
 */
import { goQuote } from "#meta/field-error.ts";
import { badRequest, timeout } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply } from "../api-request.ts";
import { isLongRunning } from "../request-info.ts";
import type { Filter } from "./filter.ts";

interface RequestDeadlineOptions {
  readonly clock: Clock;
  /** The value of `--request-timeout`. */
  readonly requestTimeoutMs: number;
}

export function requestDeadline({ clock, requestTimeoutMs }: RequestDeadlineOptions): Filter {
  const waiting = new Waiting(clock);
  return (request, next) => {
    if (isLongRunning(request.info)) {
      request.deadlineMs = Number.POSITIVE_INFINITY;
      return next(request);
    }
    let timeoutMs = requestTimeoutMs;
    let exact = false;
    if (request.url.includes("timeout=")) {
      const wanted = parseTimeout(request.query.get("timeout"));
      if (wanted > 0 && wanted < requestTimeoutMs) {
        timeoutMs = wanted;
        exact = true;
      }
    }
    request.deadlineMs = request.receivedMs + timeoutMs;
    const reply = next(request);
    if (!isLate(reply)) return reply;
    return exact ? limitByTimer(clock, request, reply) : waiting.race(request, reply);
  };
}

const late = () => timeout("request did not complete within the allotted timeout");

/** Limits one request by a timer of its own, for deadlines that the client chose. */
function limitByTimer(clock: Clock, request: ApiRequest, reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(Math.max(0, request.deadlineMs - clock.now()), () => {
      const reason = late();
      request.abort(reason);
      reject(reason);
    });
    reply.then(resolve, reject).finally(cancel);
  });
}

interface Entry {
  readonly request: ApiRequest;
  readonly reject: (reason: Error) => void;
  node: Node<Entry> | undefined;
}

const lookEveryMs = 100;
/** The time after which a request that still waits for its body loses its seats. */
const promptMs = 50;

class Waiting {
  readonly #clock: Clock;
  readonly #entries = new LinkedList<Entry>();
  #looking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  race(request: ApiRequest, reply: Promise<Reply>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const entry: Entry = { request, reject, node: undefined };
      const node = this.#entries.add(entry);
      entry.node = node;
      if (!this.#looking) this.#lookLater();
      reply.then(
        (value) => {
          this.#entries.remove(node);
          resolve(value);
        },
        (error) => {
          this.#entries.remove(node);
          reject(error);
        },
      );
    });
  }

  #lookLater(): void {
    this.#looking = true;
    this.#clock.after(lookEveryMs, () => {
      this.#looking = false;
      this.#look();
      if (this.#entries.size > 0) this.#lookLater();
    });
  }

  #look(): void {
    const now = this.#clock.now();
    for (const { request, reject, node } of this.#entries.members()) {
      // Waiting for the client does not use the event loop.
      if (request.bodyPending === true && now - request.receivedMs >= promptMs) request.seats?.end();
      if (request.deadlineMs > now) continue;
      this.#entries.remove(node!);
      const reason = late();
      request.abort(reason);
      reject(reason);
    }
  }
}

/** Returns the milliseconds of a `timeout` parameter; 0 when there is none. Throws `badRequest`. */
function parseTimeout(text: string | null): number {
  if (text === null || text === "") return 0;
  const duration = parseGoDuration(text);
  if (duration !== undefined) return duration;
  throw badRequest(`invalid timeout specified in the request URL - time: ${durationProblem(text)}`);
}

/** Returns Go's message about a text that is not a duration. */
export function durationProblem(text: string): string {
  const parts = text.replace(/^[+-]/, "").split(/(?<=[^\d.])(?=[\d.])/);
  for (const part of parts) {
    const [, count, unit] = /^(\d+\.?\d*|\.\d+)?(.*)$/s.exec(part)!;
    if (count === undefined) break;
    if (unit === "") return `missing unit in duration ${goQuote(text)}`;
    if (!/^(?:ns|us|µs|μs|ms|s|m|h)$/.test(unit!)) return `unknown unit ${goQuote(unit!)} in duration ${goQuote(text)}`;
  }
  return `invalid duration ${goQuote(text)}`;
}
