/**
 * The destination of a reply: one exchange of one protocol. Implementations: `Http1ResponseWriter`,
 * `Http2ResponseWriter`, `WebSocketResponseWriter`.
 */
import type { Writable } from "node:stream";
import type { StreamSink, Tunnel } from "#http/api-request.ts";

export interface ResponseWriter {
  /** Tells when it has room again (`drain`) and when it is closed. */
  readonly channel: Writable;
  /** Whether the peer can no longer be reached, or the reply has ended. */
  readonly gone: boolean;
  /** Sends the header block alone; the body follows piece by piece. `length` is -1 when unknown. */
  head(code: number, headers: readonly string[], length: number): void;
  /** A piece of the body. False when the peer should take something first. */
  write(bytes: Buffer): boolean;
  /** Sends everything. `bytes` is `undefined` for no body, `length` the Content-Length, -1 for none. */
  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void;
  sink(): StreamSink;
  /** Passes bytes between the peer and another connection until one closes. Absent where that cannot be. */
  tunnel?(tunnel: Tunnel, headers: readonly string[]): void;
  end(): void;
  destroy(): void;
  /** Whether bytes wait for a peer that does not take them. */
  readonly blocked: boolean;
  /** Calls back once the peer has read everything written, or has closed. */
  onTaken(callback: () => void): void;
}
