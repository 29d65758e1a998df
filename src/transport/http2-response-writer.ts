/** HTTP/2 requests and replies on a stream. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream, sensitiveHeaders } from "node:http2";
import type { BodyStream, StreamSink } from "#http/api-request.ts";
import type { IncomingRequest, Message } from "./incoming-request.ts";
import { type BodySource, ReadableBody } from "./readable-body.ts";
import type { SocketReader } from "./read-turns.ts";
import type { ResponseWriter } from "./response-writer.ts";

export class Http2Message implements Message {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: BodyStream | undefined;
  readonly #stream: ServerHttp2Stream;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    source: BodySource,
  ) {
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.body = stream.endAfterHeaders ? undefined : new ReadableBody(stream, source);
    this.#stream = stream;
  }

  sendContinue(): void {
    if (this.headers["expect"] === "100-continue" && !this.#stream.headersSent) {
      this.#stream.additionalHeaders({ ":status": 100 });
    }
  }
}

/** Names and values alternate; names may have any case. */
type RawHeaders = string[] & { [sensitiveHeaders]: readonly string[] };

/**
 * Headers with a different value in every answer. They are kept out of the connection's header table, where they would
 * displace others.
 */
const neverIndexed = ["audit-id"];

/** Writes replies by Node's stream interface, since its compatibility layer would double the cost. */
export class Http2ResponseWriter implements ResponseWriter {
  readonly #stream: ServerHttp2Stream;
  readonly #request: IncomingRequest;
  readonly #reader: SocketReader;

  constructor(stream: ServerHttp2Stream, request: IncomingRequest, reader: SocketReader) {
    this.#stream = stream;
    this.#request = request;
    this.#reader = reader;
  }

  get channel(): ServerHttp2Stream {
    return this.#stream;
  }

  write(bytes: Buffer): boolean {
    return this.#stream.write(bytes);
  }

  get gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  head(code: number, headers: readonly string[], length: number): void {
    this.#respond(code, headers, length, false);
  }

  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    const empty = bytes === undefined || bytes.length === 0;
    this.#respond(code, headers, length, empty);
    if (!empty) this.#stream.end(bytes);
    this.#stopRequest();
  }

  #respond(code: number, headers: readonly string[], length: number, end: boolean): void {
    const out = [":status", String(code), ...headers] as RawHeaders;
    if (length >= 0) out.push("Content-Length", String(length));
    out[sensitiveHeaders] = neverIndexed;
    this.#stream.respond(out, end ? { endStream: true } : undefined);
  }

  sink(): StreamSink {
    return new Http2Sink(this.#stream);
  }

  end(): void {
    this.#stream.end();
    this.#stopRequest();
  }

  /** Tells the client to stop sending a body that is not needed (RFC 9113 section 8.1). */
  #stopRequest(): void {
    if (!this.#request.bodyPending) return;
    this.#stream.close();
    this.#reader.meter();
  }

  destroy(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  get blocked(): boolean {
    return !this.#stream.destroyed && this.#stream.writableNeedDrain;
  }

  onTaken(callback: () => void): void {
    this.#stream.once("close", callback);
  }
}

/**
 * The maximum bytes of a stream that wait for a client: far below Node's own mark, since a connection has many streams.
 */
const waitingBytesMax = 16 * 1024;

class Http2Sink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #written: () => void;
  /** Whether the slow client has been reported. */
  #isSlow = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    this.#written = () => {
      if (!this.#isSlow || this.blocked) return;
      this.#isSlow = false;
      this.onDrain?.();
    };
  }

  write(bytes: Buffer): boolean {
    const stream = this.#stream;
    if (bytes.length > 0 && !stream.destroyed && !stream.writableEnded) stream.write(bytes, this.#written);
    this.#isSlow = this.blocked;
    return !this.#isSlow;
  }

  get blocked(): boolean {
    return this.#stream.destroyed || this.#stream.writableLength > waitingBytesMax;
  }

  end(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }
}
