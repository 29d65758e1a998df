/**
 * The turns of planes on the event loop. Work of a plane that is ready is done at once, as long as a turn of the loop has room
 * for it; then it waits, and in each following turn the plane goes first to which least of the measured time was given. So a
 * plane waits for one piece of work of the others, however many of theirs wait, and busy planes get equal times.
 *
 * A piece is what a request of a client or of a controller does before it first waits for something, or the next part of a body
 * that is made while it is written. What it does after it has waited (for the disk, another server) is not charged, and what
 * controllers do with events and answers is not either.
 */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { Chunks } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import { Deque } from "#std/deque.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";

type Handler = (request: ApiRequest) => MaybePromise<Reply>;

/** The time of work in a turn of the event loop, after which sockets are read again. */
const turnMs = 4;

export class PlaneTurns {
  readonly #clock: Clock;
  readonly #later: (callback: () => void) => void;
  /** The planes with waiting work. */
  readonly #waiting = new Set<PlaneShare>();
  /** The time that was used in this turn. */
  #usedMs = 0;
  #isBegun = false;
  #isWorking = false;
  /** The time of the plane that had a turn last: planes that were idle are not given more than others. */
  #virtualMs = 0;

  /** `later` calls back in the next turn of the event loop, when sockets were read. */
  constructor(clock: Clock, later: (callback: () => void) => void) {
    this.#clock = clock;
    this.#later = later;
  }

  /** Makes the share of a plane. */
  share(): PlaneShare {
    return new PlaneShare((share, work) => this.#enter(share, work));
  }

  #enter(share: PlaneShare, work: () => void): void {
    if (share.waiting.length === 0) share.virtualMs = Math.max(share.virtualMs, this.#virtualMs);
    if (this.#waiting.size === 0 && this.#usedMs < turnMs && !this.#isWorking) {
      this.#do(share, work);
      return;
    }
    share.waiting.push(work);
    this.#waiting.add(share);
  }

  #do(share: PlaneShare, work: () => void): void {
    if (!this.#isBegun) {
      this.#isBegun = true;
      this.#later(() => this.#next());
    }
    this.#virtualMs = share.virtualMs;
    const startMs = this.#clock.monotonic();
    this.#isWorking = true;
    work();
    this.#isWorking = false;
    const ms = this.#clock.monotonic() - startMs;
    this.#usedMs += ms;
    share.virtualMs += ms;
  }

  /** Begins the next turn. */
  #next(): void {
    this.#usedMs = 0;
    this.#isBegun = false;
    while (this.#usedMs < turnMs) {
      const share = this.#first();
      if (share === undefined) return;
      const work = share.waiting.shift()!;
      if (share.waiting.length === 0) this.#waiting.delete(share);
      this.#do(share, work);
    }
  }

  /** Returns the waiting plane to which least time was given. */
  #first(): PlaneShare | undefined {
    let first: PlaneShare | undefined;
    for (const share of this.#waiting) {
      if (first === undefined || share.virtualMs < first.virtualMs) first = share;
    }
    return first;
  }
}

/** The share of one plane. */
export class PlaneShare {
  readonly waiting = new Deque<() => void>();
  /** The time that the plane was given, or would have been, had it not been idle. */
  virtualMs = 0;
  readonly #enter: (share: PlaneShare, work: () => void) => void;

  constructor(enter: (share: PlaneShare, work: () => void) => void) {
    this.#enter = enter;
  }

  /** Does a piece of work, now or at a turn of the plane. It must not throw. */
  do(work: () => void): void {
    this.#enter(this, work);
  }

  /** Returns the result of a piece of work, which must not throw. */
  result<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    let done: { readonly value: MaybePromise<T> } | undefined;
    let resolve: ((value: MaybePromise<T>) => void) | undefined;
    this.do(() => {
      done = { value: work() };
      resolve?.(done.value);
    });
    return done === undefined
      ? new Promise((wait) => (resolve = wait))
      : (done as { readonly value: MaybePromise<T> }).value;
  }

  /** Returns a handler that does its work in turns of the plane. The other one must not throw. */
  handler(handle: Handler): Handler {
    const divided = (reply: Reply): Reply =>
      reply.chunks === undefined ? reply : { ...reply, chunks: this.#chunks(reply.chunks) };
    return (request) =>
      andThen(
        this.result(() => handle(request)),
        divided,
      );
  }

  /** Returns chunks that are made in turns of the plane. */
  #chunks(chunks: Chunks): Chunks {
    return {
      get length() {
        return chunks.length;
      },
      [Symbol.asyncIterator]: () => {
        const inner = chunks[Symbol.asyncIterator]();
        return {
          // An error is one of the result.
          next: () => Promise.resolve(this.result(() => inner.next())),
          return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }
}
