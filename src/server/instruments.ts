/**
 * The hooks of a test kit in a server, and the parts of the server that it is given (`testing/`). A server without
 * instruments does not know about them after its start: no request and no write does more work.
 */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { LogStore } from "#storage/log-store.ts";
import type { LogWatchCache } from "#storage/memory.ts";
import type { Assembled } from "./assemble-config.ts";

type Handler = (request: ApiRequest) => MaybePromise<Reply>;

export interface Instruments {
  /**
   * The clock of connections, and of the deadlines of requests. A test that lets an hour pass need not lose its
   * connections.
   */
  readonly connectionClock: Clock;
  /** Whether the port and its connections let the process end. */
  readonly inBackground: boolean;
  /** Wraps the handler of the port: it sees each request of clients first, and each reply last. */
  wrapHandler(next: Handler): Handler;
  /** Wraps the log of the store, outside of every other log. */
  wrapLog(log: LogStore): LogStore;
  /** Takes the parts of the server, once it serves. */
  assembled(cache: LogWatchCache, server: Pick<Assembled, "ownRequests" | "isCaughtUp">): void;
}
