/**
 * The https port: HTTP/2 and HTTP/1.1 by ALPN, TLS, limits against abuse, and graceful shutdown. It turns each exchange
 * into an `ApiRequest` and passes the `Reply` to `reply-writer.ts`; the chain handles the request.
 *
 * Hot path. Most of the cost of a small request is below this file, in TLS and the kernel: docs/performance.md.
 */
import { constants } from "node:crypto";
import type { Log } from "#std/log.ts";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  createSecureContext,
  createServer,
  type SecureContext,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from "node:tls";
import { FieldNames } from "#http2/hpack-writer.ts";
import { OutBuffers } from "#http2/out-buffers.ts";
import { ServerSession } from "#http2/server-session.ts";
import type { ServerStream } from "#http2/server-stream.ts";
import { badRequest } from "#meta/status-error.ts";
import { userAnonymous } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { type Random, systemRandom } from "#std/random.ts";
import { LinkedList } from "#std/linked-list.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { AnswerLost, type ApiRequest, type ClientCertificate, type Headers, type Reply } from "#http/api-request.ts";
import { BodyBudget } from "./body-budget.ts";
import { CertificateChains } from "./certificate-chains.ts";
import { DividedBudget } from "./divided-budget.ts";
import { closeSoon } from "./end-unread.ts";
import { type ConnectionBound, type ConnectionLimits, Acceptor } from "./acceptor.ts";
import { Gzip } from "./gzip.ts";
import { HeaderNames } from "./header-names.ts";
import { type Http1Exchange, type Http1Limits, Http1Server } from "./http1-server.ts";
import { Http1Message, Http1ResponseWriter } from "./http1-response-writer.ts";
import { Http2Message, Http2ResponseWriter } from "./http2-response-writer.ts";
import { IncomingRequest, type RequestDependencies, type Peer } from "./incoming-request.ts";
import { ChunkCache } from "#http/chunk-cache.ts";
import type { HeldPort } from "./held-port.ts";
import { type OwnerBound, ownerOf } from "./owner.ts";
import { type SocketReader, ReadTurns } from "./read-turns.ts";
import { Exchange, type ReplySettings } from "./reply-writer.ts";
import { headProblem } from "./request-head.ts";
import { splitTarget } from "#http/request-info.ts";
import { handshakeOf } from "./websocket.ts";
import { WebSocketResponseWriter } from "./websocket-response-writer.ts";

interface NamedCertificate {
  readonly key: string;
  /** The certificate and its chain. */
  readonly certificate: string;
}

/** PEM texts. `cert` (the chain) and `clientCa` may have several certificates. */
export interface TlsFiles {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /**
   * Other certificates, by the host names in lower case for which clients ask; `*.` before a name stands for one label.
   */
  readonly named?: ReadonlyMap<string, NamedCertificate>;
  /** The authorities of client certificates. If present, client certificates are requested and verified. */
  readonly clientCa?: string | Buffer;
  /** The minimum TLS version; TLS 1.2 by default. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names of cipher suites, separated by colons. */
  readonly ciphers?: string;
}

/**
 * The limits of a listener. The times and sizes of HTTP/1.1 also hold for HTTP/2 if it has them, and `headerMs` for the
 * TLS handshake.
 */
interface ListenerLimits extends Http1Limits, ConnectionLimits {
  /** The maximum number of concurrent requests of an HTTP/2 connection, and of unread body bytes per request. */
  readonly concurrentStreams: number;
  readonly streamWindowBytes: number;
  /** A client that reads nothing for this many milliseconds, while a reply waits for it, is disconnected. */
  readonly stallMs: number;
  /** The number of watches and other streams that may be open; half of it of one user, or of one plane. */
  readonly openStreams: number;
}

const defaultLimits: ListenerLimits = {
  headerBytes: 64 * 1024,
  headerCount: 1000,
  headerMs: 32_000,
  requestMs: 120_000,
  idleMs: 90_000,
  concurrentStreams: 100,
  streamWindowBytes: 256 * 1024,
  stallMs: 60_000,
  openStreams: 131_072,
  connections: Number.POSITIVE_INFINITY,
  connectionsPerAddress: Number.POSITIVE_INFINITY,
  connectionsPerUser: Number.POSITIVE_INFINITY,
  connectionsPerPlane: Number.POSITIVE_INFINITY,
};

/**
 * The maximum number of connections that wait in the kernel: one more gets no answer, and tries again after a second.
 */
const backlogMax = 4096;

/** The maximum bytes of compressed parts of lists that are kept for later requests. */
const compressedBytesMax = 32 * 1024 * 1024;
/** The maximum bytes of uncompressed chunks that are kept: a list of some 12,000 objects of 1.2 KB. */
const joinedBytesMax = 16 * 1024 * 1024;

export interface ListenerOptions {
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /**
   * Holds the port in place of this process. Where it is held already, this listener takes connections after `begin`.
   */
  readonly heldPort?: HeldPort | undefined;
  /** Whether other processes may listen on the port, if they permit it, too; false by default. */
  readonly sharesPort?: boolean;
  readonly tls: TlsFiles;
  /** Whether only HTTP/1.1 is served, for clients whose HTTP/2 misbehaves. */
  readonly http1Only?: boolean;
  readonly limits?: Partial<ListenerLimits>;
  /** Directives of `Strict-Transport-Security`; none by default. */
  readonly strictTransport?: string;
  /** Whether long replies are compressed; true by default. */
  readonly compress?: boolean;
  /** Whether the port and its connections let the process end; false by default. */
  readonly inBackground?: boolean;
  /**
   * Handles a request. Must not reject, since errors have become replies; if it rejects, the client gets a bare 500 and
   * the log a line. After an `AnswerLost` the connection is cut.
   */
  handle(request: ApiRequest): MaybePromise<Reply>;
  /** Called when a connection ended with an error before the TLS handshake was complete. */
  handshakeFailed?(): void;
  /** Called when a connection exceeded a limit, with its address, user or plane. */
  connectionRefused?(bound: ConnectionBound, of: string): void;
  readonly log: Pick<Log, "debug" | "error">;
  readonly clock: Clock;
  readonly random?: Random;
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** Takes connections on a known port; another listener does so already. Rejects as `openListener` does. */
  begin(): Promise<void>;
  /**
   * Uses the files for new connections; existing ones keep theirs. `clientCa` and `named` can be changed, but not added.
   */
  updateTls(tls: TlsFiles): void;
  /** Stops accepting connections. Existing ones stay open; clients are told to open new ones elsewhere. */
  stopAccepting(): void;
  /**
   * Ends streams, sessions with other servers after a while, and waits until every request is answered or `deadlineMs`
   * (of the clock) has come. Resolves with whether all requests were answered. Call it after `stopAccepting`.
   */
  drain(deadlineMs: number): Promise<boolean>;
  /** Closes the remaining connections. */
  close(): Promise<void>;
  /** The number of connections, and of running requests, including long-running ones. */
  readonly connections: number;
  readonly requests: number;
}

/** Rejects with the system's error (`EADDRINUSE`, `EACCES`) or OpenSSL's when it cannot start. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const listener = new TlsListener(options);
  if (options.heldPort?.number === undefined) await listener.listen();
  return listener;
}

/** The time in milliseconds for which sessions with other servers go on while this one ends. */
const sessionsMs = 5_000;

interface ConnectionParts {
  readonly reader: SocketReader;
  readonly limits: ListenerLimits;
  /** Called when a user, or the users of a plane, have too many connections. */
  refused(bound: OwnerBound, of: string): void;
  /** Called when the user of the connection is known. */
  authenticated(): void;
  /** The chains of client certificates; present when certificates are requested. */
  readonly chains: CertificateChains | undefined;
}

/** Returns the socket that carries TLS. Node keeps it in this member only. */
const belowTls = (socket: TLSSocket): Socket => (socket as unknown as { readonly _parent: Socket })._parent;

/** Answers a request without TLS in the words of Go's servers, which clients show. */
function refusePlainHttp(socket: TLSSocket): void {
  const below = belowTls(socket);
  below.write("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", () =>
    socket.destroy(),
  );
}

/** One TLS connection and its requests. */
class Connection implements Peer {
  readonly exchanges = new LinkedList<Exchange>();
  readonly socket: TLSSocket;
  readonly reader: SocketReader;
  /** The session of an HTTP/2 connection. */
  session: ServerSession | undefined;
  readonly remoteAddress: string;
  /** The chains of client certificates; present when certificates are requested. */
  readonly #chains: CertificateChains | undefined;
  readonly #limits: ListenerLimits;
  readonly #refused: ConnectionParts["refused"];
  readonly #authenticated: () => void;
  #isKnown = false;
  /** Whether the connection exceeds the limit of its user, or of the plane. */
  isExcess = false;
  #certificate: ClientCertificate | undefined;
  #problem = "";
  #checked = false;

  constructor(socket: TLSSocket, { reader, limits, refused, authenticated, chains }: ConnectionParts) {
    this.socket = socket;
    this.reader = reader;
    this.#limits = limits;
    this.#refused = refused;
    this.#authenticated = authenticated;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.#chains = chains;
  }

  identify(user: string, plane: string): OwnerBound | undefined {
    if (this.#isKnown || user === userAnonymous) return undefined;
    const bound = this.reader.identify(ownerOf(user, plane), this.#limits);
    this.#isKnown = bound === undefined;
    this.isExcess = !this.#isKnown;
    if (bound === undefined) this.#authenticated();
    else if (bound === "plane") this.#refused(bound, plane);
    else this.#refused(bound, plane === "" ? user : `${user} of ${plane}`);
    return bound;
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
    // Node counts a resumed session without a certificate as authorized; without bytes there is no certificate.
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
 * The only error is that the trusted authority is an intermediate, signed by another that is not in the bundle.
 * Upstream accepts every certificate of a bundle as an anchor; authenticators check the chain up to it.
 */
const belowAnchor = "UNABLE_TO_GET_ISSUER_CERT";

/** Node gives one value as a text and several as a list. */
function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

class TlsListener implements Listener {
  address: string;
  port: number;
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #settings: ReplySettings;
  readonly #acceptor: Acceptor;
  /** The TLS server; it does not listen itself. */
  readonly #server: Server;
  #named: ReadonlyMap<string, SecureContext>;
  readonly #readers = new WeakMap<Socket, SocketReader>();
  readonly #connections = new Map<Duplex, Connection>();
  readonly #chains = new CertificateChains();
  readonly #http1: Http1Server;
  readonly #dependencies: RequestDependencies;
  readonly #turns: ReadTurns;
  readonly #finished = (): void => this.#finish();
  readonly #excess: ConnectionParts["refused"] = (bound, of) => this.#options.connectionRefused?.(bound, of);
  readonly #buffers = new OutBuffers();
  readonly #names = new FieldNames();
  #dateSeconds = Number.NaN;
  #dateText = "";
  #isListening = false;
  #stopping = false;
  /** Whether a stream that begins ends at once. */
  #endsStreams = false;
  #requests = 0;
  #onQuiet: (() => void) | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.address = options.host;
    this.port = options.heldPort?.number ?? options.port;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#settings = {
      clock: options.clock,
      strictTransport: options.strictTransport ?? "",
      headerNames: new HeaderNames(),
      compress: options.compress ?? true,
      gzip: new Gzip(compressedBytesMax),
      joined: new ChunkCache(joinedBytesMax),
      stallMs: this.#limits.stallMs,
    };
    this.#turns = new ReadTurns(options.clock);
    const random = options.random ?? systemRandom;
    this.#dependencies = {
      newId: () => random.uuid(),
      bodies: new BodyBudget(),
      streams: new DividedBudget(this.#limits.openStreams),
    };
    this.#named = namedContexts(options.tls);
    this.#server = this.#createServer();
    this.#acceptor = new Acceptor({
      limits: this.#limits,
      begin: (socket) => this.#begin(socket),
      pauseUnauthenticated: (isPaused) => this.#turns.pauseUnauthenticated(isPaused),
      closed: () => this.#quiet(),
      refused: (bound, address) => options.connectionRefused?.(bound, address),
    });
    const handler = {
      request: (socket: TLSSocket, exchange: Http1Exchange) => this.#serveHttp1(socket, exchange),
      upgrade: (socket: TLSSocket, request: IncomingMessage, early: Buffer) =>
        this.#serveUpgrade(socket, request, early),
      refused: (socket: TLSSocket) => this.#lost(socket),
    };
    this.#http1 = new Http1Server(handler, this.#limits, options.clock);
  }

  #createServer(): Server {
    const { tls } = this.#options;
    const limits = this.#limits;
    const server = createServer({
      ...secureContext(tls),
      ...(tls.named === undefined ? {} : { SNICallback: this.#choose }),
      ALPNProtocols: this.#options.http1Only === true ? ["http/1.1"] : ["h2", "http/1.1"],
      requestCert: tls.clientCa !== undefined,
      rejectUnauthorized: false,
      handshakeTimeout: limits.headerMs,
    });
    server.on("secureConnection", (socket) => {
      const connection = this.#connected(socket);
      if (socket.alpnProtocol === "h2") this.#serveHttp2(connection);
      else this.#http1.serve(socket, connection.reader);
    });
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      this.#options.handshakeFailed?.();
      if (error.code === "ERR_SSL_HTTP_REQUEST") refusePlainHttp(socket);
      else socket.destroy();
    });
    return server;
  }

  /** Chooses the context for a host name; `undefined` is that of the usual certificate. */
  readonly #choose: NonNullable<TlsOptions["SNICallback"]> = (name, done) => {
    const asked = name.toLowerCase();
    done(null, this.#named.get(asked) ?? this.#named.get(asked.replace(/^[^.]*/, "*")));
  };

  /** Begins TLS with a connection. */
  #begin(socket: Socket): void {
    this.#readers.set(socket, this.#turns.open(socket));
    if (this.#options.inBackground === true) socket.unref();
    this.#server.emit("connection", socket);
  }

  async begin(): Promise<void> {
    if (!this.#isListening && !this.#stopping) await this.listen();
  }

  async listen(): Promise<void> {
    this.#isListening = true;
    const { heldPort, host, port } = this.#options;
    if (heldPort === undefined) return this.#listen();
    const bound = await heldPort.listen({ host, port, backlog: backlogMax }, (socket) => this.#acceptor.take(socket));
    this.address = bound.address;
    this.port = bound.port;
  }

  #listen(): Promise<void> {
    const { server } = this.#acceptor;
    const { host, port, sharesPort: reusePort = false } = this.#options;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port, backlog: backlogMax, reusePort }, () => {
        server.off("error", reject);
        server.on("error", (error) => this.#options.log.error({ error }, "listener failed"));
        if (this.#options.inBackground === true) server.unref();
        const bound = server.address() as AddressInfo; // a TCP server's address is never a text
        this.address = bound.address;
        this.port = bound.port;
        resolve();
      });
    });
  }

  #connected(socket: TLSSocket): Connection {
    const chains = this.#options.tls.clientCa === undefined ? undefined : this.#chains;
    const below = belowTls(socket);
    const authenticated = (): void => this.#acceptor.authenticated(below);
    const reader = this.#readers.get(below)!; // since it began
    const connection = new Connection(socket, {
      reader,
      limits: this.#limits,
      refused: this.#excess,
      authenticated,
      chains,
    });
    this.#connections.set(socket, connection);
    connection.reader.secured();
    socket.on("error", ignore);
    socket.once("close", () => {
      this.#lost(socket);
      this.#connections.delete(socket);
    });
    return connection;
  }

  #lost(socket: Duplex): void {
    for (const exchange of this.#connections.get(socket)?.exchanges.members() ?? []) exchange.lost();
  }

  #serveHttp2(connection: Connection): void {
    const { socket, reader } = connection;
    const { concurrentStreams, streamWindowBytes, headerBytes, headerCount } = this.#limits;
    let used = ignore;
    const finished = (): void => {
      used();
      this.#finish();
    };
    const session = new ServerSession(
      socket,
      {
        streamsMax: concurrentStreams,
        bodyWindowBytes: streamWindowBytes,
        // The limits are longer than the served ones, so that a client that exceeds these gets an answer; above the limits
        // here the stream is reset.
        headerBytesMax: headerBytes * 1.5,
        fieldsMax: 2 * headerCount,
        buffers: this.#buffers,
        names: this.#names,
        now: () => this.#options.clock.monotonic(),
      },
      {
        request: (stream) => this.#http2(connection, stream, finished),
        took: (bytes) => reader.took(bytes),
        lost: () => this.#lost(socket),
      },
    );
    connection.session = session;
    used = this.#endIdle(connection, session);
    // Without this, everything that still arrives would be read and dropped, without a time limit.
    socket.once("finish", () => closeSoon(socket, reader, this.#options.clock));
    if (this.#stopping) session.close();
  }

  /**
   * Closes a session that is idle for a while; call the returned function at the end of each request.
   */
  #endIdle(connection: Connection, session: ServerSession): () => void {
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
      // Answers that the client does not read would keep the session open.
      cancel = clock.after(stallMs, () => session.destroy());
    };
    let cancel = clock.after(idleMs, look);
    connection.socket.once("close", () => cancel());
    return () => {
      usedMs = clock.monotonic();
    };
  }

  #serveHttp1(socket: TLSSocket, exchange: Http1Exchange): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.reader.tookRequest();
    const { method = "GET", url = "/", headers, rawHeaders } = exchange.request;
    const target = splitTarget(url);
    const coding = headers["transfer-encoding"];
    // Node refuses other transfer codings too, but passes on the request first.
    if (target === undefined || (coding !== undefined && coding.toLowerCase() !== "chunked")) {
      exchange.response.writeHead(400, ["Content-Type", "text/plain; charset=utf-8", "Connection", "close"]);
      exchange.response.end("400 Bad Request");
      return;
    }
    const upgrade = asksToUpgrade(headers) ? headers.upgrade?.toLowerCase() : undefined;
    const isWebSocket = upgrade === "websocket" && method === "GET";
    const refusal = headProblem(url, rawHeaders, this.#limits) ?? (isWebSocket ? webSocketWithBody : undefined);
    const incoming = new IncomingRequest(
      { method, url, target, protocol: "HTTP/1.1", receivedMs: this.#options.clock.now(), refusal, upgrade },
      connection,
      new Http1Message(exchange),
      this.#dependencies,
    );
    const writer = new Http1ResponseWriter(exchange, incoming, this.#options.clock);
    this.#serve(connection, new Exchange(incoming, writer, this.#settings, connection.exchanges, this.#finished));
  }

  #serveUpgrade(socket: TLSSocket, request: IncomingMessage, early: Buffer): void {
    const { clock } = this.#options;
    const { method = "GET", url = "/", headers, rawHeaders } = request;
    const connection = this.#connections.get(socket);
    const target = splitTarget(url);
    if (connection === undefined || target === undefined) {
      socket.destroy();
      return;
    }
    connection.reader.tookRequest();
    const upgrade = headers.upgrade?.toLowerCase() ?? "";
    // Safe: only `set-cookie` would be a list.
    const handshake = upgrade === "websocket" ? handshakeOf(headers as Headers) : undefined;
    const incoming = new IncomingRequest(
      {
        method,
        url,
        target,
        protocol: "HTTP/1.1",
        receivedMs: clock.now(),
        refusal: headProblem(url, rawHeaders, this.#limits),
        upgrade,
        upgradable: { problem: handshake?.problem, protocols: handshake?.protocols ?? [] },
      },
      connection,
      // The request has no body.
      { headers, rawHeaders, body: undefined, sendContinue: ignore },
      this.#dependencies,
    );
    const writer = new WebSocketResponseWriter(socket, connection.reader, early, handshake, clock);
    this.#serve(connection, new Exchange(incoming, writer, this.#settings, connection.exchanges, this.#finished));
  }

  #http2(connection: Connection, stream: ServerStream, finished: () => void): void {
    const { headers, fields } = stream;
    connection.reader.tookRequest();
    const url = headers[":path"] ?? "";
    const target = splitTarget(url);
    if (target === undefined || url === "") {
      stream.respond([":status", "400", "content-type", "text/plain; charset=utf-8"], false);
      stream.end(Buffer.from("400 Bad Request"));
      return;
    }
    const message = new Http2Message(stream);
    const head = {
      method: headers[":method"] ?? "GET",
      url,
      target,
      protocol: "HTTP/2.0",
      receivedMs: this.#options.clock.now(),
      refusal: headProblem(url, fields, this.#limits),
    } as const;
    const incoming = new IncomingRequest(head, connection, message, this.#dependencies);
    const writer = new Http2ResponseWriter(stream, this.#date);
    const exchange = new Exchange(incoming, writer, this.#settings, connection.exchanges, finished);
    stream.onClose = () => {
      writer.closed();
      exchange.lost();
    };
    this.#serve(connection, exchange);
  }

  /** Returns the time of answers, in seconds. */
  readonly #date = (): string => {
    const seconds = Math.floor(this.#options.clock.now() / 1000);
    if (seconds !== this.#dateSeconds) {
      this.#dateSeconds = seconds;
      this.#dateText = new Date(seconds * 1000).toUTCString();
    }
    return this.#dateText;
  };

  #serve(connection: Connection, exchange: Exchange): void {
    this.#requests++;
    let reply: MaybePromise<Reply>;
    try {
      reply = this.#options.handle(exchange.request);
    } catch (error) {
      reply = this.#failed(exchange, error);
    }
    if (!isLate(reply)) this.#answer(connection, exchange, reply);
    else {
      void reply
        .catch((error: unknown) => this.#failed(exchange, error))
        .then((late) => this.#answer(connection, exchange, late));
    }
  }

  #failed(exchange: Exchange, error: unknown): Reply {
    if (error instanceof AnswerLost) exchange.destroy();
    else this.#options.log.error({ error, path: exchange.request.path }, "a request had no reply");
    return { code: 500, contentType: "text/plain; charset=utf-8", bytes: Buffer.from("Internal Server Error\n") };
  }

  #answer(connection: Connection, exchange: Exchange, reply: Reply): void {
    try {
      const { session, isExcess } = connection;
      const isLast = reply.closeConnection === true || exchange.request.refusal !== undefined || isExcess;
      if (!exchange.request.bodyPending) connection.reader.wasUseful();
      if (session === undefined) exchange.send(reply, this.#stopping || isLast);
      else {
        exchange.send(reply, false);
        if (reply.closeConnection === true || isExcess) session.close();
      }
      if (this.#endsStreams) exchange.endStream();
    } catch (error) {
      this.#options.log.error({ error, path: exchange.request.path }, "a reply could not be written");
      exchange.destroy();
    }
  }

  #finish(): void {
    this.#requests--;
    if (this.#requests === 0) this.#quiet();
  }

  updateTls(tls: TlsFiles): void {
    const named = namedContexts(tls);
    this.#server.setSecureContext(secureContext(tls));
    this.#named = named;
  }

  stopAccepting(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#options.heldPort?.stop();
    this.#acceptor.server.close();
    for (const { session } of this.#connections.values()) session?.close();
  }

  async drain(deadlineMs: number): Promise<boolean> {
    this.stopAccepting();
    this.#endStreams((exchange) => !exchange.isSession);
    this.#endsStreams = true;
    const sessionsEnd = Math.min(deadlineMs, this.#options.clock.now() + sessionsMs);
    await this.#untilQuiet(sessionsEnd, () => this.#requests === 0);
    this.#endStreams(() => true);
    await this.#untilQuiet(deadlineMs, () => this.#requests === 0);
    const answered = this.#requests === 0;
    // The last replies can still arrive, but clients that do not read are not waited for.
    for (const { session, exchanges, socket } of this.#connections.values()) {
      if (session === undefined && exchanges.size === 0) socket.destroySoon();
    }
    const arrival = Math.min(deadlineMs, this.#options.clock.now() + 1_000);
    await this.#untilQuiet(arrival, () => this.connections === 0);
    return answered;
  }

  #endStreams(isMeant: (exchange: Exchange) => boolean): void {
    for (const { exchanges } of this.#connections.values()) {
      for (const exchange of exchanges.members()) if (isMeant(exchange)) exchange.endStream();
    }
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
    this.#http1.close();
    for (const socket of this.#acceptor.sockets) socket.destroy();
    return this.#untilQuiet(Number.POSITIVE_INFINITY, () => this.connections === 0);
  }

  get connections(): number {
    return this.#acceptor.sockets.size;
  }

  get requests(): number {
    return this.#requests;
  }
}

function ignore(): void {}

/** A WebSocket request with a body: Node does not treat it as an upgrade, so it cannot become a WebSocket. */
const webSocketWithBody = badRequest("a request for a WebSocket has no body");

/** Whether a request of HTTP/1.1 wants another protocol on its connection. */
function asksToUpgrade({ connection, upgrade }: IncomingHttpHeaders): boolean {
  return upgrade !== undefined && connection !== undefined && /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i.test(connection);
}

/** Returns the contexts of certificates with names. A certificate with several names has one. */
function namedContexts(tls: TlsFiles): ReadonlyMap<string, SecureContext> {
  const contexts = new Map<NamedCertificate, SecureContext>();
  for (const one of tls.named?.values() ?? [])
    contexts.set(one, createSecureContext(secureContext({ ...tls, key: one.key, cert: one.certificate })));
  return new Map([...(tls.named ?? [])].map(([name, one]) => [name, contexts.get(one)!])); // it was made above
}

function secureContext(tls: TlsFiles) {
  return {
    key: tls.key,
    cert: tls.cert,
    minVersion: tls.minVersion ?? ("TLSv1.2" as const),
    // A client that may renegotiate could make the server do any number of key exchanges on one connection. One that
    // names ChaCha20 first has no instructions for AES.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_PRIORITIZE_CHACHA,
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
  };
}
