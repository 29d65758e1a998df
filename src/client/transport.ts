/**
 * The way of a client's requests to a server: over a socket, or, for controllers in the server's process, by a direct
 * call of the request chain.
 */
import type { ReceivedEvent } from "./received-event.ts";

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query. */
  readonly path: string;
  readonly contentType?: string;
  /** The wanted form of the answer; JSON by default. */
  readonly accept?: string;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
  /** Whether the write may still be made; called when the write is stored, if that is in this process. */
  readonly mayWrite?: () => boolean;
}

export interface ClientResponse {
  readonly code: number;
  readonly body: Buffer;
}

export interface Transport {
  request(request: ClientRequest): Promise<ClientResponse>;
  /** A watch; resolves when the stream ends. The answer's body is filled only when the code is not 200. */
  stream(request: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<ClientResponse>;
}
