/**
 * The server as a client of itself, by transports that call the request chain directly. It is created before the chain,
 * so that other parts can get their clients first; all transports are stopped together.
 */
import type { LeaseVersion, Transport } from "#client/transport.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { serviceUnavailable } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { inProcessTransport } from "./in-process-transport.ts";

export class Loopback {
  readonly #clock: Clock;
  readonly #running = new Set<Promise<unknown>>();
  #handle: (request: ApiRequest) => MaybePromise<Reply> = () => {
    throw serviceUnavailable("the server is starting");
  };
  #leaseKey: (lease: LeaseVersion) => string = () => "";
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers requests from now on. `leaseKey` returns the key under which a Lease is stored. */
  serve(handle: (request: ApiRequest) => MaybePromise<Reply>, leaseKey: (lease: LeaseVersion) => string): void {
    this.#handle = handle;
    this.#leaseKey = leaseKey;
  }

  /** The number of requests that wait for an answer; watches do not count. */
  get running(): number {
    return this.#running.size;
  }

  /** Returns a transport of a user with a user agent. */
  transport(user: UserInfo, userAgent: string): Transport {
    const inner = inProcessTransport({
      handle: (request) => this.#handle(request),
      user,
      userAgent,
      leaseKey: (lease) => this.#leaseKey(lease),
      now: () => this.#clock.now(),
    });
    return {
      request: async (request) => {
        this.#check();
        const answer = inner.request(request);
        this.#running.add(answer);
        try {
          return await answer;
        } finally {
          this.#running.delete(answer);
        }
      },
      stream: async (request, onEvent) => {
        this.#check();
        return inner.stream(request, onEvent);
      },
    };
  }

  /** Refuses new requests, and resolves when no request is running. Watches end by their own signals. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#running);
  }

  #check(): void {
    if (this.#isStopped) throw serviceUnavailable("the server is shutting down");
  }
}
