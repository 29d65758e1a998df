/**
 * Decides whether and when a request is sent again. A write is sent again only when the server has not carried it out.
 *
 * | What came of it | Reads | Writes |
 * | --- | --- | --- |
 * | 429 or 503 with Retry-After | after that time | after that time |
 * | another 5xx with Retry-After, such as "Too large resource version" | after that time | the answer |
 * | the server has not looked at it: refused stream, GOAWAY, a connection lost before | at once, then each second | the same |
 * | the connection was lost before the answer was complete | at once, then each second | the error |
 * | all else | the answer or the error | the answer or the error |
 *
 * Upstream: client-go sends again up to ten times, and writes also after any 5xx with Retry-After.
 */
import type { Random } from "#std/random.ts";
import { ConnectionError } from "../connection-error.ts";
import { retryAfterMs } from "./headers.ts";
import type { WireAnswer } from "./exchange.ts";

/** The maximum number of times that a request is sent again. */
const repetitionsMax = 10;
/** The longest wait in milliseconds that a server may ask for; with a longer one its answer is final. */
const waitMsMax = 60_000;
const minWaitMs = 50;
const lostWaitMs = 1000;

/** One request with all its tries. */
export class Repetitions {
  readonly #reads: boolean;
  readonly #random: Random;
  #count = 0;

  /** `reads` says whether a request that is carried out twice does no harm. */
  constructor(reads: boolean, random: Random) {
    this.#reads = reads;
    this.#random = random;
  }

  /** Returns the milliseconds until the request is sent again; `undefined` if the answer is final. */
  afterAnswer({ code, headers }: WireAnswer): number | undefined {
    const wanted = retryAfterMs(headers);
    if (wanted === undefined || wanted > waitMsMax) return undefined;
    if (code !== 429 && code !== 503 && !(code >= 500 && this.#reads)) return undefined;
    return this.#count++ < repetitionsMax ? this.#spread(Math.max(wanted, minWaitMs)) : undefined;
  }

  /** Returns the milliseconds until the request is sent again; `undefined` if the error is final. */
  afterError(error: unknown): number | undefined {
    if (!(error instanceof ConnectionError) || !error.temporary || (error.sent && !this.#reads)) return undefined;
    if (this.#count >= repetitionsMax) return undefined;
    return this.#count++ === 0 ? 0 : this.#spread(lostWaitMs);
  }

  /** Adds up to a tenth, so that clients that were sent away together do not come back together. */
  #spread(ms: number): number {
    return ms * (1 + this.#random.next() / 10);
  }
}
