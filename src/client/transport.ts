/**
 * The way of a client's requests to a server: over a socket, or, for controllers in the server's process, by direct
 * calls of the request chain.
 */
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
   * Returns whether the write may still be made. Called at the moment of storage if the store is in this process,
   * otherwise before each time that the request is sent.
   */
  readonly mayWrite?: () => boolean;
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
