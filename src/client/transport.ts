/**
 * The way of a client's requests to a server: over a socket, or, for controllers in the server's process, by direct
 * calls of the request chain.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ReceivedEvent } from "./received-event.ts";

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its query. */
  readonly path: string;
  readonly contentType?: string | undefined;
  /** The media type of the answer; JSON by default. */
  readonly accept?: string | undefined;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Returns the Lease under which the write is made; `undefined`: it may not be made any more. Called before each
   * attempt. A server in this process writes only while the Lease has this version; if it has another one, the member is
   * called again with `isRefused`, and then waits for a renewal that is on its way.
   */
  readonly lease?: (isRefused?: boolean) => MaybePromise<LeaseVersion | undefined>;
}

/** A version of a Lease. */
export interface LeaseVersion {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

export interface ClientResponse {
  readonly code: number;
  readonly body: Buffer;
  /** The texts of the server's warnings; absent means none. */
  readonly warnings?: readonly string[];
  /** The time that the server asks to wait before the next request, in milliseconds. */
  readonly retryAfterMs?: number;
}

export interface Transport {
  /** Rejects with the signal's reason when it is aborted. */
  request(request: ClientRequest): Promise<ClientResponse>;
  /**
   * Watches, and resolves when the stream ends or the signal is aborted during it. Rejects when the stream is cut. The
   * answer has a body only when its code is not 200.
   */
  stream(request: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<ClientResponse>;
}
