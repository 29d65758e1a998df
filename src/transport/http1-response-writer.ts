/** HTTP/1.1 requests and replies, on Node's server. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import type { BodyStream, StreamSink } from "#http/api-request.ts";
import { ChannelSink, onceTaken, whenDrained } from "./channel-sink.ts";
import { endUnread } from "./end-unread.ts";
import type { Http1Exchange } from "./http1-server.ts";
import type { Message } from "./incoming-request.ts";
import { ReadableBody } from "./readable-body.ts";
import type { ResponseWriter } from "./response-writer.ts";

/**
 * An unread body up to this length is discarded and the connection kept, which costs both sides less than a new one.
 * Nothing of others is read after the answer, and the connection closes: they cost whoever reads them more.
 */
const shortBody = 16 * 1024;

export class Http1Message implements Message {
  readonly body: BodyStream | undefined;
  readonly #exchange: Http1Exchange;

  constructor(exchange: Http1Exchange) {
    const { request } = exchange;
    this.#exchange = exchange;
    this.body = hasBody(request.headers) ? new ReadableBody(request, exchange.reader) : undefined;
  }

  get headers(): IncomingHttpHeaders {
    return this.#exchange.request.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.#exchange.request.rawHeaders;
  }

  sendContinue(): void {
    const { expectsContinue, response } = this.#exchange;
    if (expectsContinue && !response.headersSent) response.writeContinue();
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** The request data that the writer needs. */
interface Asked {
  readonly bodyPending: boolean;
}

export class Http1ResponseWriter implements ResponseWriter {
  readonly #exchange: Http1Exchange;
  readonly #response: ServerResponse;
  readonly #socket: TLSSocket;
  readonly #asked: Asked;
  readonly #clock: Clock;
  #ended = false;
  /** Whether the connection closes because the rest of the body is too long to read. */
  #isLong = false;

  constructor(exchange: Http1Exchange, asked: Asked, clock: Clock) {
    this.#exchange = exchange;
    this.#response = exchange.response;
    this.#socket = exchange.request.socket as TLSSocket; // the listener has no others
    this.#asked = asked;
    this.#clock = clock;
  }

  get channel(): ServerResponse {
    return this.#response;
  }

  get gone(): boolean {
    return this.#ended || !this.#socket.writable;
  }

  head(code: number, headers: readonly string[], length: number): void {
    const socket = this.#socket;
    this.#begin(code, headers, length);
    // The first bytes of the body, if they arrive in this turn, go into the same packet.
    socket.cork();
    this.#response.flushHeaders();
    process.nextTick(uncork, socket);
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(bytes);
  }

  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    this.#begin(code, headers, length);
    this.#end(bytes);
  }

  sink(): StreamSink {
    // A stream may last long, and only a reader learns that the client has left.
    if (this.#isLong) this.#readRest();
    else this.#dropBody();
    return new ChannelSink(this);
  }

  end(): void {
    if (!this.#ended) this.#end(undefined);
  }

  #end(bytes: Buffer | undefined): void {
    this.#ended = true;
    if (this.#isLong && !this.#exchange.request.complete) this.#leaveBody();
    this.#response.end(bytes);
    this.#dropBody();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  whenDrained(settled: (hasDrained: boolean) => void): () => void {
    return whenDrained(this.channel, settled);
  }

  whileUntaken(begin: () => () => void): void {
    if (this.#socket.writableNeedDrain) onceTaken(this.#socket, begin());
  }

  /** Writes the head with the first bytes of the body, and decides whether the connection is kept. */
  #begin(code: number, headers: readonly string[], length: number): void {
    const response = this.#response;
    const { request } = this.#exchange;
    const out = [...headers];
    if (length >= 0) out.push("Content-Length", String(length));
    const isTold = headers.at(-2) === "Connection";
    const closes = isTold || !response.shouldKeepAlive;
    this.#isLong = this.#asked.bodyPending && !request.complete && (closes || !this.#isShort());
    if (this.#isLong && !isTold) out.push("Connection", "close");
    // HTTP/1.1 keeps connections by default, but Node would send the header each time.
    else if (!closes && request.httpVersionMinor === 1) response.removeHeader("Connection");
    response.writeHead(code, out);
  }

  /** Whether the rest of the request's body is short enough to be discarded. */
  #isShort(): boolean {
    const { expectsContinue, request } = this.#exchange;
    return !expectsContinue && Number(request.headers["content-length"] ?? Infinity) <= shortBody;
  }

  /** Discards the rest of a body. */
  #dropBody(): void {
    const { reader, request } = this.#exchange;
    if (!this.#asked.bodyPending || reader.isClosed) return;
    reader.release();
    request.resume();
  }

  /** Discards as much of a long body as of a short one. If more arrives, the stream and the connection end. */
  #readRest(): void {
    const { reader, request } = this.#exchange;
    let bytesLeft = shortBody;
    request.on("data", (piece: Buffer) => {
      bytesLeft -= piece.length;
      if (bytesLeft < 0) this.end();
    });
    reader.release();
  }

  /** Stops reading the body; the connection closes with the reply. */
  #leaveBody(): void {
    const socket = this.#socket;
    const { reader } = this.#exchange;
    reader.close();
    // Node calls this after the last reply of a connection.
    socket.destroySoon = () => endUnread(socket, reader, this.#clock);
  }
}

function uncork(socket: TLSSocket): void {
  socket.uncork();
}
