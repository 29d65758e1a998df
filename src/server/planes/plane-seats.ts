/**
 * The share of one plane in the event loop: a bounded number of its requests are worked on at a time, and the others wait in
 * order. So the work that is between a request of one plane and its answer is that of as many requests of each other plane
 * at most, whoever sent them: flow control of a plane exempts the plane's own administrators.
 */
import { type ApiRequest, type Reply, slowMs } from "#http/api-request.ts";
import type { Clock } from "#std/clock.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";

/** The number of requests of one plane that are worked on at a time, and of those that may wait. */
export interface SeatBounds {
  readonly runningMax: number;
  readonly waitingMax: number;
}

export class PlaneSeats {
  readonly #bounds: SeatBounds;
  readonly #clock: Clock;
  #running = 0;
  #waiting: (() => void)[] = [];

  constructor(bounds: SeatBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Has a request handled at its turn. `refuse` answers one for which there is no room, or whose client has gone. */
  handle(
    request: Pick<ApiRequest, "aborted">,
    work: () => MaybePromise<Reply>,
    refuse: () => Reply,
  ): MaybePromise<Reply> {
    const { runningMax, waitingMax } = this.#bounds;
    if (this.#running < runningMax) {
      this.#running++;
      return this.#run(work);
    }
    if (this.#waiting.length >= waitingMax) return refuse();
    return new Promise<void>((resolve) => this.#waiting.push(resolve)).then(() => {
      if (!request.aborted) return this.#run(work);
      this.#next();
      return refuse();
    });
  }

  #run(work: () => MaybePromise<Reply>): MaybePromise<Reply> {
    return andThen(work(), (reply) => {
      const { stream } = reply;
      if (stream?.hasBeginning === true) {
        const end = this.#endOnce();
        const begun = stream.onBegun;
        stream.onBegun = () => {
          begun?.();
          end();
        };
        return withDone(reply, end);
      }
      // Such a body is made while it is written.
      if (reply.chunks !== undefined || reply.pieces !== undefined) {
        const end = this.#endOnce();
        const cancel = this.#clock.after(slowMs, end);
        return withDone(reply, () => {
          cancel();
          end();
        });
      }
      this.#next();
      return reply;
    });
  }

  /** Returns the function that ends the turn of a request, whose further calls do nothing. */
  #endOnce(): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#next();
    };
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

const withDone = (reply: Reply, done: () => void): Reply => ({
  ...reply,
  done() {
    done();
    reply.done?.();
  },
});
