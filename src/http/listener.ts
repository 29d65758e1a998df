/**
 * The https port: HTTP/2 and HTTP/1.1 by ALPN, TLS, limits against abuse, and an orderly end. It turns each exchange
 * into an `ApiRequest` and hands the `Reply` to `reply-writer.ts`; what the request means is the chain's.
 *
 * Hot path. Server CPU of a GET with an answer of 1.1 KB, Node 26, two shared cores: 64 HTTP/1.1 connections over TLS
 * 17 to 20 us (node's https alone 15 to 17), with the whole chain and a bearer token about 3 us more; 8 HTTP/2
 * connections with 8 streams each 22 us (node alone 20). A thousand HTTP/1.1 watchers: 11 us for an event of 1.1 KB
 * sent by itself, 2 us when eight go out together. A list of 6.5 MB: 6 ms, with gzip 4 ms once its runs were
 * compressed. TLS and system calls are two thirds of each.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { type Random, systemRandom } from "#std/random.ts";
import { Roster } from "#std/roster.ts";
import type { Soon } from "#std/soon.ts";
import type { ApiRequest, ClientCertificate, Reply } from "./api-request.ts";
import { CertificateChains } from "./certificate-chains.ts";
import { Gzip } from "./gzip.ts";
import { IncomingRequest, type Message, type Peer } from "./incoming-request.ts";
import { Exchange, forgetFrames, Http1Wire, Http2Wire, type ReplySettings } from "./reply-writer.ts";
import { splitTarget } from "./request-info.ts";

/** PEM texts. Several certificates may follow each other in `cert` (the chain) and in `clientCa`. */
export interface TlsFiles {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** Client certificates are asked for, and verified against these, when it is set. */
  readonly clientCa?: string | Buffer;
  /** Default: TLS 1.2. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names, separated by colons. */
  readonly ciphers?: string;
}

export interface ListenerLimits {
  /** Request line and headers together; beyond it 431. Upstream's bound. */
  readonly headerBytes: number;
  /** Header fields of one request. */
  readonly headerCount: number;
  /** Time a client has to send its headers, and a whole request; also for the TLS handshake. */
  readonly headerMs: number;
  readonly requestMs: number;
  /** A connection without a request is closed after this time. */
  readonly idleMs: number;
  /** HTTP/2: requests of one connection at a time, and body bytes a client may have under way per request. */
  readonly concurrentStreams: number;
  readonly streamWindowBytes: number;
  /** A client that takes nothing for so long, while a reply waits for it, is cut off. */
  readonly stallMs: number;
}

export const defaultLimits: ListenerLimits = {
  headerBytes: 1024 * 1024,
  headerCount: 1000,
  headerMs: 32_000,
  requestMs: 120_000,
  idleMs: 90_000,
  concurrentStreams: 100,
  streamWindowBytes: 256 * 1024,
  stallMs: 60_000,
};

/** Compressed parts of lists that are kept for the next one who asks. */
const compressedBytesMax = 32 * 1024 * 1024;

/** The part of a logger the listener uses. */
export interface TransportLog {
  debug(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly tls: TlsFiles;
  /** Serve HTTP/1.1 only, the way out when a client's HTTP/2 misbehaves. */
  readonly http1Only?: boolean;
  readonly limits?: Partial<ListenerLimits>;
  /** Directives of `Strict-Transport-Security`; none by default. */
  readonly strictTransport?: string;
  /** Compress long replies; on by default. */
  readonly compress?: boolean;
  /** Must not reject: errors are replies by then. If it does, the answer is a bare 500 and a line in the log. */
  handle(request: ApiRequest): Soon<Reply>;
  /** A connection ended with an error before TLS stood. */
  handshakeFailed?(): void;
  readonly log: TransportLog;
  readonly clock: Clock;
  readonly random?: Random;
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** New connections get these; existing ones keep what they have. `clientCa` can be changed, not added. */
  updateTls(tls: TlsFiles): void;
  /** No new connections. Existing ones go on; clients are told to make their next one elsewhere. */
  stopAccepting(): void;
  /**
   * Ends streams in good order and waits until every request is answered or `deadlineMs` (of the clock) has come.
   * True when nothing was left. Call it after `stopAccepting`.
   */
  drain(deadlineMs: number): Promise<boolean>;
  /** Cuts what is left. */
  close(): Promise<void>;
  /** Connections, and requests under way, long-running ones included. */
  readonly connections: number;
  readonly requests: number;
}

/** Rejects with the system's error (`EADDRINUSE`, `EACCES`) or OpenSSL's when it cannot start. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const listener = new TlsListener(options);
  await listener.listen(options.host, options.port);
  return listener;
}

/** One TLS connection and what is under way on it. */
class Connection implements Peer {
  readonly exchanges = new Roster<Exchange>();
  readonly socket: TLSSocket;
  /** Set on HTTP/2 connections. */
  session: ServerHttp2Session | undefined;
  readonly remoteAddress: string;
  /** A refusal was written past all replies; nothing else may be. */
  refused = false;
  /** Set when certificates are asked for. */
  readonly #chains: CertificateChains | undefined;
  #certificate: ClientCertificate | undefined;
  #problem = "";
  #checked = false;

  constructor(socket: TLSSocket, chains: CertificateChains | undefined) {
    this.socket = socket;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.#chains = chains;
  }

  get clientCertificate(): ClientCertificate | undefined {
    this.#check();
    return this.#certificate;
  }

  get clientCertificateProblem(): string {
    this.#check();
    return this.#problem;
  }

  #check(): void {
    if (this.#checked) return;
    this.#checked = true;
    if (this.#chains === undefined) return;
    const shown = this.socket.getPeerCertificate();
    // A resumed session without a certificate counts as authorized for node; without bytes there is no certificate.
    if (shown?.raw === undefined) return;
    const problem = this.socket.authorized ? "" : String(this.socket.authorizationError ?? "not verified");
    if (problem !== "" && problem !== belowAnchor) {
      this.#problem = problem;
      return;
    }
    const subject = shown.subject as unknown as Readonly<Record<string, string | readonly string[]>> | undefined;
    this.#certificate = {
      commonName: texts(subject?.["CN"]).at(-1) ?? "",
      organizations: texts(subject?.["O"]),
      raw: shown.raw,
      issuers: this.#chains.issuersOf(this.socket, shown.raw),
    };
  }
}

/**
 * The one thing wrong is that the trusted authority is not the last of its chain: it was signed by another that is not
 * in the bundle. Upstream takes every certificate of a bundle as an end; authenticators follow the chain to it.
 */
const belowAnchor = "UNABLE_TO_GET_ISSUER_CERT";

/** Node gives one value as a text and several as a list. */
function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

class TlsListener implements Listener {
  address = "";
  port = 0;
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #settings: ReplySettings;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Map<Duplex, Connection>();
  readonly #chains = new CertificateChains();
  readonly #newId: () => string;
  readonly #finished = (): void => this.#finish();
  #stopping = false;
  #requests = 0;
  #onQuiet: (() => void) | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#settings = {
      clock: options.clock,
      strictTransport: options.strictTransport ?? "",
      compress: options.compress ?? true,
      gzip: new Gzip(compressedBytesMax),
      stallMs: this.#limits.stallMs,
    };
    const random = options.random ?? systemRandom;
    this.#newId = () => random.uuid();
    this.#server = this.#createServer();
  }

  #createServer(): Server {
    const { tls } = this.#options;
    const limits = this.#limits;
    const server = createServer({
      ...secureContext(tls),
      ALPNProtocols: this.#options.http1Only === true ? ["http/1.1"] : ["h2", "http/1.1"],
      requestCert: tls.clientCa !== undefined,
      rejectUnauthorized: false,
      handshakeTimeout: limits.headerMs,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 180_000,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headerMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(5_000, limits.headerMs),
    });
    server.maxHeadersCount = limits.headerCount;
    // Node's own listener serves HTTP/1.1 on the socket; it is kept for the connections that chose that.
    const [serveHttp1] = server.listeners("secureConnection");
    server.removeAllListeners("secureConnection");
    server.on("secureConnection", (socket) => {
      const connection = this.#connected(socket);
      if (socket.alpnProtocol === "h2") this.#serveHttp2(connection);
      else serveHttp1!.call(server, socket);
    });
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#quiet();
      });
    });
    server.on("request", (request, response) => this.#http1(request, response, false));
    server.on("checkContinue", (request, response) => this.#http1(request, response, true));
    server.on("clientError", (error, socket) => this.#clientError(error, socket));
    server.on("tlsClientError", (_error, socket) => {
      this.#options.handshakeFailed?.();
      socket.destroy();
    });
    return server;
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, backlog: 1024 }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", (error) => this.#options.log.error({ error }, "listener failed"));
        const bound = this.#server.address() as AddressInfo; // a TCP server's address is never a text
        this.address = bound.address;
        this.port = bound.port;
        resolve();
      });
    });
  }

  #connected(socket: TLSSocket): Connection {
    const connection = new Connection(socket, this.#options.tls.clientCa === undefined ? undefined : this.#chains);
    this.#connections.set(socket, connection);
    socket.on("error", ignore);
    socket.once("close", () => {
      this.#connections.delete(socket);
      for (const exchange of connection.exchanges.members()) exchange.lost();
    });
    return connection;
  }

  #serveHttp2(connection: Connection): void {
    const limits = this.#limits;
    const session = performServerHandshake(connection.socket, {
      maxHeaderListPairs: limits.headerCount,
      settings: {
        enablePush: false,
        maxConcurrentStreams: limits.concurrentStreams,
        initialWindowSize: limits.streamWindowBytes,
        maxHeaderListSize: limits.headerBytes,
      },
    });
    connection.session = session;
    session.on("error", ignore);
    const used = this.#endIdle(connection, session);
    const finished = (): void => {
      used();
      this.#finish();
    };
    session.on("stream", (stream, headers, _flags, rawHeaders) => {
      // The declared type of the fourth argument is out of date: it is the list of names and values.
      this.#http2(connection, stream, headers, rawHeaders as unknown as readonly string[], finished);
    });
    // Bodies of all streams together.
    session.setLocalWindowSize(limits.streamWindowBytes * limits.concurrentStreams);
    if (this.#stopping) session.close();
  }

  /**
   * Closes a session without requests after a while; the returned function is to be told of each that ends. Node's own
   * timer would not do: it outlives its session, and keeps all of it until its time is over.
   */
  #endIdle(connection: Connection, session: ServerHttp2Session): () => void {
    const { clock } = this.#options;
    const { idleMs, stallMs } = this.#limits;
    let usedMs = clock.monotonic();
    const look = (): void => {
      const idleForMs = connection.exchanges.size > 0 ? 0 : clock.monotonic() - usedMs;
      if (idleForMs < idleMs) {
        cancel = clock.after(idleMs - idleForMs, look);
        return;
      }
      session.close();
      // Answers that the client does not take would keep it open.
      cancel = clock.after(stallMs, () => session.destroy());
    };
    let cancel = clock.after(idleMs, look);
    connection.socket.once("close", () => cancel());
    return () => {
      usedMs = clock.monotonic();
    };
  }

  #http1(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const connection = this.#connections.get(request.socket);
    const url = request.url ?? "";
    const target = splitTarget(url);
    const coding = request.headers["transfer-encoding"];
    // The parser refuses other codings too, but only after it has announced the request.
    if (connection === undefined || target === undefined || !(coding === undefined || /^chunked$/i.test(coding))) {
      if (connection !== undefined) connection.refused = true;
      response.writeHead(400, ["Content-Type", "text/plain; charset=utf-8", "Connection", "close"]);
      response.end("400 Bad Request");
      return;
    }
    const message = new Http1Message(request, response, expectsContinue);
    const incoming = new IncomingRequest(
      request.method ?? "GET",
      url,
      target,
      "HTTP/1.1",
      this.#options.clock.now(),
      connection,
      message,
      this.#newId,
    );
    const wire = new Http1Wire(request, response, incoming, this.#options.clock);
    this.#serve(connection, new Exchange(incoming, wire, this.#settings, connection.exchanges, this.#finished));
  }

  #http2(
    connection: Connection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    finished: () => void,
  ): void {
    stream.on("error", ignore);
    const url = headers[":path"] ?? "";
    const target = splitTarget(url);
    if (target === undefined || url === "") {
      stream.respond({ ":status": 400, "content-type": "text/plain; charset=utf-8" });
      stream.end("400 Bad Request");
      return;
    }
    const message = new Http2Message(stream, headers, rawHeaders);
    const incoming = new IncomingRequest(
      headers[":method"] ?? "GET",
      url,
      target,
      "HTTP/2.0",
      this.#options.clock.now(),
      connection,
      message,
      this.#newId,
    );
    const wire = new Http2Wire(stream, incoming);
    const exchange = new Exchange(incoming, wire, this.#settings, connection.exchanges, finished);
    stream.on("close", () => exchange.lost());
    this.#serve(connection, exchange);
  }

  #serve(connection: Connection, exchange: Exchange): void {
    this.#requests++;
    let reply: Soon<Reply>;
    try {
      reply = this.#options.handle(exchange.request);
    } catch (error) {
      reply = this.#failed(exchange, error);
    }
    if (!(reply instanceof Promise)) this.#answer(connection, exchange, reply);
    else {
      void reply
        .catch((error: unknown) => this.#failed(exchange, error))
        .then((late) => this.#answer(connection, exchange, late));
    }
  }

  #failed(exchange: Exchange, error: unknown): Reply {
    this.#options.log.error({ error, path: exchange.request.path }, "a request had no reply");
    return { code: 500, contentType: "text/plain; charset=utf-8", bytes: Buffer.from("Internal Server Error\n") };
  }

  #answer(connection: Connection, exchange: Exchange, reply: Reply): void {
    try {
      const { session } = connection;
      if (session === undefined) exchange.send(reply, this.#stopping || reply.closeConnection === true);
      else {
        exchange.send(reply, false);
        if (reply.closeConnection === true && !session.closed) session.close();
      }
    } catch (error) {
      this.#options.log.error({ error, path: exchange.request.path }, "a reply could not be written");
      exchange.destroy();
    }
  }

  #finish(): void {
    this.#requests--;
    if (this.#requests === 0) {
      forgetFrames();
      this.#quiet();
    }
  }

  /** Answers what is no HTTP with a short text, if nothing else is being said, and closes. */
  #clientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (connection?.refused === true) return;
    const speaking = connection === undefined || connection.exchanges.members().some(({ replied }) => replied);
    if (speaking || error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    connection.refused = true;
    const line = refusals[error.code ?? ""] ?? "400 Bad Request";
    socket.end(`HTTP/1.1 ${line}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${line}`);
    // Whoever sends nonsense may go on for ever; whoever made a mistake reads the answer first.
    this.#options.clock.after(1_000, () => socket.destroy());
    for (const exchange of connection.exchanges.members()) exchange.lost();
  }

  updateTls(tls: TlsFiles): void {
    this.#server.setSecureContext(secureContext(tls));
  }

  stopAccepting(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#server.close();
    for (const { session } of this.#connections.values()) session?.close();
  }

  async drain(deadlineMs: number): Promise<boolean> {
    this.stopAccepting();
    for (const connection of this.#connections.values()) {
      for (const exchange of connection.exchanges.members()) exchange.endStream();
    }
    await this.#untilQuiet(deadlineMs, () => this.#requests === 0);
    const answered = this.#requests === 0;
    // The last replies are on their way: let them arrive, but wait for nobody who does not read.
    this.#server.closeIdleConnections();
    const arrival = Math.min(deadlineMs, this.#options.clock.now() + 1_000);
    await this.#untilQuiet(arrival, () => this.#sockets.size === 0);
    return answered;
  }

  #untilQuiet(deadlineMs: number, isQuiet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const wait = deadlineMs - this.#options.clock.now();
      if (isQuiet() || wait <= 0) {
        resolve();
        return;
      }
      const settle = (): void => {
        this.#onQuiet = undefined;
        cancel();
        resolve();
      };
      const cancel = wait === Number.POSITIVE_INFINITY ? ignore : this.#options.clock.after(wait, settle);
      this.#onQuiet = () => {
        if (isQuiet()) settle();
      };
    });
  }

  #quiet(): void {
    this.#onQuiet?.();
  }

  close(): Promise<void> {
    this.stopAccepting();
    for (const socket of this.#sockets) socket.destroy();
    return this.#untilQuiet(Number.POSITIVE_INFINITY, () => this.#sockets.size === 0);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get requests(): number {
    return this.#requests;
  }
}

function ignore(): void {}

/** By the parser's code; everything else is a bad request. */
const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

function secureContext(tls: TlsFiles) {
  return {
    key: tls.key,
    cert: tls.cert,
    minVersion: tls.minVersion ?? ("TLSv1.2" as const),
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
  };
}

class Http1Message implements Message {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #expectsContinue: boolean;

  constructor(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) {
    this.#request = request;
    this.#response = response;
    this.#expectsContinue = expectsContinue;
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  get body(): Readable | undefined {
    const headers = this.#request.headers;
    const length = headers["content-length"];
    if (headers["transfer-encoding"] === undefined && (length === undefined || length === "0")) return undefined;
    return this.#request;
  }

  sendContinue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    this.#response.writeContinue();
  }
}

class Http2Message implements Message {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) {
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.#stream = stream;
  }

  get body(): Readable | undefined {
    return this.#stream.endAfterHeaders ? undefined : this.#stream;
  }

  sendContinue(): void {
    if (this.headers["expect"] === "100-continue" && !this.#stream.headersSent) {
      this.#stream.additionalHeaders({ ":status": 100 });
    }
  }
}
