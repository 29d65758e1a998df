/**
 * One open plane: a whole control plane without a port. It takes its requests, a bounded number at a time and at its turns of
 * the event loop, begins the work of its controllers with the first write, and ends.
 */
import { type ApiRequest, type Reply, unknownUser } from "#http/api-request.ts";
import { serviceUnavailable, type StatusError } from "#meta/status-error.ts";
import { andThen, attempt, type MaybePromise } from "#std/maybe-promise.ts";
import type { Assembled } from "../assemble-config.ts";
import type { Peers } from "../peers.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { PlaneHost } from "./plane-host.ts";
import type { PlaneShare } from "./plane-turns.ts";
import { PlaneSeats, type SeatBounds } from "./plane-seats.ts";
import { isPreflight, noRoom, statusReply, unauthenticatedReply } from "./status-reply.ts";

/** The time for which requests and watches may take to end when their plane ends. */
const endMs = 5000;

/** The requests of each plane that are worked on at a time. Flow control of the plane divides them among its users. */
const seats: SeatBounds = { runningMax: 64, waitingMax: 1000 };

interface PlaneParts {
  readonly host: PlaneHost;
  readonly assembled: Assembled;
  readonly cache: WatchCache;
  readonly peers: Peers | undefined;
  /** The share of the plane in the event loop. */
  readonly share: PlaneShare;
  readonly end: AbortController;
  /** Closes everything, and resolves with the digests of the plane's bootstrap tokens. */
  readonly close: () => Promise<ReadonlySet<string>>;
  /** Begins the work of controllers; `undefined` where it has begun. */
  readonly wake: (() => void) | undefined;
}

/** The methods that give controllers no work, as those of strangers do. */
const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** A reply, and whether it is for a user that the plane knows. */
interface Answered {
  readonly reply: Reply;
  readonly isKnown: boolean;
}

/** An open plane. */
export class Plane {
  readonly #parts: PlaneParts;
  /** The requests that were not answered yet, and the open streams. */
  readonly #running = new Set<ApiRequest>();
  readonly #seats: PlaneSeats;
  /** Does the work of a request in turns of the plane. */
  readonly #handle: Assembled["handle"];
  #usedMs: number;
  #isUntouched: boolean;
  #closing: Promise<ReadonlySet<string>> | undefined;
  #onQuiet: (() => void) | undefined;

  constructor(parts: PlaneParts) {
    this.#parts = parts;
    this.#usedMs = parts.host.clock.monotonic();
    this.#isUntouched = parts.wake !== undefined;
    this.#seats = new PlaneSeats(seats, parts.host.clock);
    this.#handle = parts.share.handler((request) => parts.assembled.handle(request));
  }

  /** The time at which the last request of a known user ended, by the monotonic clock. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** Whether no request runs, no watch is open, and no controller waits for an answer. */
  get isIdle(): boolean {
    const { assembled } = this.#parts;
    return this.#running.size === 0 && assembled.ownRequests() === 0 && assembled.isCaughtUp();
  }

  /** The bytes of all objects. */
  get usedBytes(): number {
    return this.#parts.cache.presentBytes;
  }

  /** Whether the plane is as it was made, so that its controllers have nothing to do. */
  get isUntouched(): boolean {
    return this.#isUntouched;
  }

  /** The reason for clients, once the plane ends; `undefined` while it serves. */
  get ended(): StatusError | undefined {
    const { signal } = this.#parts.end;
    return signal.aborted ? (signal.reason as StatusError) : undefined; // `end` gives it
  }

  /** Handles a request below the plane's prefix. Never rejects. */
  handle(request: ApiRequest): MaybePromise<Reply> {
    if (this.ended !== undefined) return this.#answer(request, statusReply(this.ended), ({ reply }) => reply);
    this.#running.add(request);
    const ended = ({ reply, isKnown }: Answered): Reply => {
      if (isKnown && !readMethods.has(request.method)) {
        this.#isUntouched = false;
        this.#parts.wake?.();
      }
      return {
        ...reply,
        done: () => {
          reply.done?.();
          this.#forget(request, isKnown);
        },
      };
    };
    const { peers } = this.#parts;
    const work = (): MaybePromise<Reply> => {
      // The plane may have ended, or the client gone, while the request waited.
      if (this.ended !== undefined) return statusReply(this.ended);
      return request.aborted ? noRoom() : andThen(peers?.comeBack(), () => this.#handle(request));
    };
    return andThen(this.#seats.handle(request, work, noRoom), (reply) => this.#answer(request, reply, ended));
  }

  /** Gives a reply to `use`, or that for strangers in its place: they get the same as from a plane that is closed or absent. */
  #answer(request: ApiRequest, reply: Reply, use: (answered: Answered) => Reply): MaybePromise<Reply> {
    if (request.user !== unknownUser) return use({ reply, isKnown: true });
    if (isPreflight(request, reply)) return use({ reply, isKnown: false });
    const stranger = (): Reply => use({ reply: unauthenticatedReply(reply), isKnown: false });
    if (reply.code === 401) return stranger();
    // It was refused before anybody asked for its user.
    const isKnown = attempt(
      (one: ApiRequest) => this.#parts.assembled.knows(one),
      request,
      () => false,
    );
    return andThen(isKnown, (known) => (known ? use({ reply, isKnown: true }) : stranger()));
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    this.#parts.assembled.drain();
  }

  /**
   * Ends running requests and watches with `reason`, and closes everything. Resolves with the digests of the plane's
   * bootstrap tokens.
   */
  end(reason: StatusError = serviceUnavailable("the control plane is closed")): Promise<ReadonlySet<string>> {
    return (this.#closing ??= this.#end(reason));
  }

  async #end(reason: StatusError): Promise<ReadonlySet<string>> {
    const { end, assembled, host, close } = this.#parts;
    const { clock } = host;
    end.abort(reason);
    assembled.drain();
    for (const request of this.#running) request.abort(reason);
    if (this.#running.size > 0) {
      const quiet = Promise.withResolvers<void>();
      this.#onQuiet = quiet.resolve;
      const cancel = clock.after(endMs, quiet.resolve);
      await quiet.promise;
      cancel();
    }
    return close();
  }

  /** Strangers keep no plane open: `isUse` says whether the request counts as use. */
  #forget(request: ApiRequest, isUse: boolean): void {
    this.#running.delete(request);
    if (isUse) this.#usedMs = this.#parts.host.clock.monotonic();
    if (this.#running.size === 0) this.#onQuiet?.();
  }
}
