/**
 * The way of a client's requests to a server: over a socket, or, for controllers in the server's process, by direct
 * calls of the request chain.
 */
import type { ReceivedEvent } from "./received-event.ts";

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its query. */
  readonly path: string;
  readonly contentType?: string;
  /** The media type of the answer; JSON by default. */
  readonly accept?: string;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
  /** Returns whether the write may still be made. Called at the moment of storage, if the store is in this process. */
  readonly mayWrite?: () => boolean;
}

export interface ClientResponse {
  readonly code: number;
  readonly body: Buffer;
}

export interface Transport {
  request(request: ClientRequest): Promise<ClientResponse>;
  /** Watches, and resolves when the stream ends. The answer has a body only when its code is not 200. */
  stream(request: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<ClientResponse>;
}
