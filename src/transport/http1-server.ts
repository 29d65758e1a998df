/**
 * HTTP/1.1 by Node's server and parser, on TLS connections that the listener accepted: timeouts, size limits, refusal
 * of malformed requests, and the order of requests. Why Node's: docs/decisions/0005-node-http1.md.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { endUnread } from "./end-unread.ts";
import type { SocketReader } from "./read-turns.ts";

// A static import would also read all other exports of the module, and load a whole HTTP client (24 ms, 15 MB).
const { createServer } = process.getBuiltinModule("node:http");

export interface Http1Limits {
  /** The maximum bytes of the request line and the headers together, in both protocols. */
  readonly headerBytes: number;
  /** The maximum number of header fields of one request. */
  readonly headerCount: number;
  /** The maximum time in milliseconds for the headers, and for a whole request with its body. */
  readonly headerMs: number;
  readonly requestMs: number;
  /** The maximum time in milliseconds without a request. */
  readonly idleMs: number;
}

/** One request and the writer of its reply. */
export interface Http1Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Controls the reading of the connection. */
  readonly reader: SocketReader;
}

interface Http1Handler {
  /** Handles the next request of a connection; the previous one is answered. */
  request(socket: TLSSocket, exchange: Http1Exchange): void;
  /**
   * Handles a request for another protocol. The handler takes over the connection, with the bytes `early` that arrived
   * with the request.
   */
  upgrade(socket: TLSSocket, request: IncomingMessage, early: Buffer): void;
  /**
   * Called after malformed or timed-out input: no reply can be written any more, and the connection is about to close.
   */
  refused(socket: TLSSocket): void;
}

/** The maximum number of pipelined requests of a connection; further ones wait in the client. */
const aheadMax = 10_000;

/** Messages for parser errors and timeouts; other errors are a bad request. */
const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

export class Http1Server {
  readonly #server: Server;
  readonly #handler: Http1Handler;
  readonly #clock: Clock;
  readonly #queues = new WeakMap<Duplex, RequestQueue>();

  constructor(handler: Http1Handler, limits: Http1Limits, clock: Clock) {
    this.#handler = handler;
    this.#clock = clock;
    const { headerBytes, headerMs, requestMs, idleMs } = limits;
    const server = createServer({
      insecureHTTPParser: false,
      // Requests up to twice the limit are parsed, and then refused with a `Status`.
      maxHeaderSize: 2 * headerBytes,
      headersTimeout: Math.min(headerMs, requestMs),
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(5_000, headerMs, requestMs),
      keepAliveTimeout: idleMs,
      keepAliveTimeoutBuffer: 0,
      // Other requests are ordinary ones, which may be refused later.
      shouldUpgradeCallback: mayUpgrade,
      // Requests without a body need no reader.
      optimizeEmptyRequests: true,
    });
    // Node would drop further headers silently; the listener counts and refuses instead.
    server.maxHeadersCount = 0;
    server.on("request", (request, response) => this.#queue(request, response, false));
    server.on("checkContinue", (request, response) => this.#queue(request, response, true));
    server.on("upgrade", (request, stream, early) => this.#upgrade(request, stream, early));
    server.on("connect", (_request, socket) => this.#refuse(socket, "400 Bad Request"));
    server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
      this.#refuse(socket, refusals[error.code ?? ""] ?? "400 Bad Request"),
    );
    // This event starts the check for slow clients, since this server has no port of its own.
    server.emit("listening");
    this.#server = server;
  }

  serve(socket: TLSSocket, reader: SocketReader): void {
    const queue = new RequestQueue(socket, reader, (exchange) => this.#handler.request(socket, exchange));
    this.#queues.set(socket, queue);
    this.#server.emit("connection", socket);
    // With a listener the bytes come through the stream, which can be paused. Left alone, Node's parser takes them below
    // it, and an answer that is still on its way spoils the next request: paused for it, the parser is handed the rest of
    // what TLS has decrypted all the same, and ends the connection (HPE_PAUSED).
    socket.on("data", (piece: Buffer) => {
      reader.took(piece.length);
      queue.holdUnwanted();
    });
  }

  /** Stops the timeouts. */
  close(): void {
    this.#server.close();
  }

  #queue(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const queue = this.#queues.get(request.socket);
    queue?.add({ request, response, expectsContinue, reader: queue.reader });
  }

  #upgrade(request: IncomingMessage, stream: Duplex, early: Buffer): void {
    const queue = this.#queues.get(stream);
    if (queue === undefined || !this.#queues.delete(stream)) return;
    // A client that upgrades before its last answers would get these answers inside the WebSocket.
    if (queue.isBusy) queue.socket.destroy();
    else this.#handler.upgrade(queue.socket, request, early);
  }

  /** Answers with a short text, if no reply has begun, and closes the connection. */
  #refuse(stream: Duplex, refusal: string): void {
    const queue = this.#queues.get(stream);
    // Everything else that such a client sends causes another error.
    if (queue === undefined || !this.#queues.delete(stream)) return;
    const { socket } = queue;
    if (queue.isReplying || !socket.writable) {
      socket.destroy();
    } else {
      const head = `HTTP/1.1 ${refusal}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n`;
      endUnread(socket, queue.reader, this.#clock, head + refusal);
    }
    this.#handler.refused(socket);
  }
}

/**
 * Returns whether a request may change the protocol of its connection; Node has checked `Connection`. HTTP/2 is
 * negotiated only by TLS. Java's client sends a body length of 0.
 */
function mayUpgrade({ method, headers }: IncomingMessage): boolean {
  const protocol = headers.upgrade?.toLowerCase() ?? "";
  const isWanted = protocol === "websocket" ? method === "GET" : protocol !== "" && !protocol.startsWith("h2c");
  return isWanted && (headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined;
}

/** The requests of one connection. Each is handled after the previous one is answered, as clients expect. */
class RequestQueue {
  readonly socket: TLSSocket;
  readonly reader: SocketReader;
  readonly #begin: (exchange: Http1Exchange) => void;
  readonly #next = (): void => this.#advance();
  #current: Http1Exchange | undefined;
  #waiting: Http1Exchange[] = [];

  constructor(socket: TLSSocket, reader: SocketReader, begin: (exchange: Http1Exchange) => void) {
    this.socket = socket;
    this.reader = reader;
    this.#begin = begin;
  }

  /** Whether a reply has begun, so that no other reply can be sent. */
  get isReplying(): boolean {
    return this.#current?.response.headersSent === true;
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  add(exchange: Http1Exchange): void {
    if (this.#current === undefined) {
      this.#start(exchange);
      return;
    }
    this.#waiting.push(exchange);
    if (this.#waiting.length > aheadMax) this.socket.destroy();
    else this.socket.pause();
  }

  /** Leaves a body in the client until it is requested, except for the bytes that arrived with the head. */
  holdUnwanted(): void {
    const request = this.#current?.request;
    if (request !== undefined && !request.complete && request.readableFlowing === null) this.reader.hold();
  }

  #start(exchange: Http1Exchange): void {
    this.#current = exchange;
    exchange.response.once("close", this.#next);
    this.#begin(exchange);
  }

  #advance(): void {
    this.#current = undefined;
    if (this.socket.destroyed) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    if (this.#waiting.length === 0) this.socket.resume();
    this.#start(next);
  }
}
