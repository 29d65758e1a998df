/**
 * The destination of a reply: one exchange of one protocol. Implementations: `Http1ResponseWriter`,
 * `Http2ResponseWriter`, `WebSocketResponseWriter`.
 */
import type { StreamSink, Tunnel } from "#http/api-request.ts";

export interface ResponseWriter {
  /** Whether the peer can no longer be reached, or the reply has ended. */
  readonly gone: boolean;
  /** Sends only the head; the body follows piece by piece. `length` is -1 when it is not known. */
  head(code: number, headers: readonly string[], length: number): void;
  /** Sends a piece of the body. Returns false when the peer should first read some bytes. */
  write(bytes: Buffer): boolean;
  /** Sends head and body. `bytes` is `undefined` without a body; `length` is the Content-Length, or -1 without one. */
  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void;
  sink(): StreamSink;
  /**
   * Passes bytes between the peer and another connection until one closes. Absent when the protocol does not allow it.
   */
  tunnel?(tunnel: Tunnel, headers: readonly string[]): void;
  end(): void;
  destroy(): void;
  /**
   * Calls back once when there is space again (true), or the connection has closed (false). The returned function cancels
   * it. Only one may wait.
   */
  whenDrained(settled: (hasDrained: boolean) => void): () => void;
  /**
   * Calls `begin` if written bytes wait for a peer that does not read, and calls what it returns when the peer has received
   * them, or has closed. Absent where answers share the windows of a connection, so that one may wait for others: a connection
   * that takes none of them ends when it is idle.
   */
  whileUntaken?(begin: () => () => void): void;
}
