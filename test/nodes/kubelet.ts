/**
 * A process that answers like a kubelet, for tests: logs, commands that it runs, forwarded ports, and whatever else it is
 * asked, over SPDY and WebSocket. It takes only clients with a certificate of its authority.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import { serveSpdy, type SpdyStream } from "./spdy.ts";

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The common name of the client's certificate. */
  readonly client: string;
}

/** The differences of a kubelet from a usual one. */
interface KubeletOptions {
  readonly host?: string;
  /** Further addresses and names in its certificate. */
  readonly names?: readonly string[];
  /** The authority of its certificate and of its clients; default: one of its own. */
  readonly authority?: FakeAuthority;
  /** The folder in which commands run. */
  readonly folder?: string;
  /** Answers a request by itself; returns false to leave it to the kubelet. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Takes over an upgrade; returns false to leave it to the kubelet. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex) => boolean;
}

/** The channels of a session, in the order of the channels of a WebSocket. */
const channels = ["stdin", "stdout", "stderr", "error", "resize"] as const;
type Channel = (typeof channels)[number];

/** The streams of a command, over either protocol. */
interface Session {
  read(channel: Channel, take: (piece: Buffer | undefined) => void): void;
  write(channel: Channel, bytes: Buffer): void;
  end(): void;
  onGone(callback: () => void): void;
}

const knownProtocols = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];
const websocketGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export class Kubelet {
  readonly received: Received[] = [];
  /** The sizes of terminals that clients told, as JSON. */
  readonly sizes: string[] = [];
  /** The number of upgraded connections that are open. */
  sessions = 0;
  /** Whether commands are not run: their sessions stay as they are. */
  isIdle = false;
  readonly authority: FakeAuthority;
  readonly #server: Server;
  readonly #options: KubeletOptions;
  readonly #sockets = new Set<Duplex>();
  readonly #upgraded = new Set<Duplex>();

  private constructor(authority: FakeAuthority, server: Server, options: KubeletOptions) {
    this.authority = authority;
    this.#server = server;
    this.#options = options;
    server.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (request, response) => this.#answer(request, response));
    server.on("upgrade", (request, socket, early) => this.#upgrade(request, socket, early));
  }

  static async start(options: KubeletOptions = {}): Promise<Kubelet> {
    const authority = options.authority ?? (await fakeAuthority("kubelets"));
    const host = options.host ?? "127.0.0.1";
    const { certificate, key } = await authority.issue({
      usage: "server",
      hosts: [host, "localhost", ...(options.names ?? [])],
    });
    const server = createServer({
      cert: certificate,
      key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
    });
    const kubelet = new Kubelet(authority, server, options);
    server.listen(0, host);
    await once(server, "listening");
    return kubelet;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The authority of its certificate, as PEM. */
  get ca(): string {
    return this.authority.certificate;
  }

  /** Makes a client certificate that it accepts. */
  clientPair = () => this.authority.issue({ usage: "client", commonName: "apiserver", organizations: ["masters"] });

  /** Closes the connections of all sessions. */
  dropSessions(): void {
    for (const socket of this.#upgraded) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Calls back when the next log that is being read ends. */
  onceLogEnds(callback: () => void): void {
    this.#whenLogEnds = callback;
  }

  #whenLogEnds: (() => void) | undefined;

  #record({ method = "", url = "", headers, socket }: IncomingMessage): void {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    this.received.push({ method, url, headers, client: String(subject.CN) });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#record(request);
    if (this.#options.answer?.(request, response) === true) return;
    const url = new URL(request.url ?? "", "https://kubelet");
    if (url.pathname.startsWith("/containerLogs/")) {
      response.once("close", () => this.#whenLogEnds?.());
      return writeLog(url, response);
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      response.setHeader("X-Kubelet", "yes");
      response.end(`${request.method} ${request.url} ${Buffer.concat(pieces).toString()}`);
    });
  }

  #upgrade(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    this.#record(request);
    this.sessions++;
    this.#upgraded.add(socket);
    socket.once("close", () => {
      this.sessions--;
      this.#upgraded.delete(socket);
    });
    socket.on("error", () => socket.destroy());
    if (this.#options.upgrade?.(request, socket) === true) return;
    const url = new URL(request.url ?? "", "https://kubelet");
    const isForwarding = url.pathname.startsWith("/portForward/");
    if (request.headers.upgrade?.toLowerCase() === "websocket") {
      const session = webSocketSession(request, socket, early);
      return isForwarding ? forwardByChannels(url, session) : this.#run(url, session);
    }
    const offered = [request.headers["x-stream-protocol-version"] ?? []].flat().flatMap((text) => text.split(/,\s*/));
    const protocol = isForwarding ? offered[0] : knownProtocols.find((known) => offered.includes(known));
    if (protocol === undefined) {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const head = `Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n`;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${head}\r\n`);
    if (isForwarding) return forwardBySpdy(socket, early);
    const is = (name: string): boolean => url.searchParams.get(name) === "1";
    const asked = [is("input"), is("output"), is("error") && !is("tty"), true, is("tty")];
    const wanted = channels.filter((_, at) => asked[at]);
    const streams = new Map<string, SpdyStream>();
    serveSpdy(socket, early, (stream) => {
      streams.set(stream.headers["streamtype"] ?? "", stream);
      if (streams.size === wanted.length) this.#run(url, spdySession(streams, socket));
    });
  }

  /** Runs the command, or attaches to what prints the lines that it gets. */
  #run(url: URL, session: Session): void {
    const { searchParams, pathname } = url;
    const [program = "cat", ...args] = pathname.startsWith("/exec/") ? searchParams.getAll("command") : [];
    if (this.isIdle) return;
    session.read("resize", (size) => {
      if (size !== undefined) this.sizes.push(size.toString().trim());
    });
    const child = spawn(program, args, { cwd: this.#options.folder });
    pipeChild(child, session, searchParams.get("tty") === "1");
  }
}

function pipeChild(child: ChildProcessWithoutNullStreams, session: Session, isTerminal: boolean): void {
  session.read("stdin", (piece) => {
    if (piece === undefined) child.stdin.end();
    else child.stdin.write(piece);
  });
  child.stdin.on("error", () => undefined);
  child.stdout.on("data", (piece: Buffer) => session.write("stdout", piece));
  child.stderr.on("data", (piece: Buffer) => session.write(isTerminal ? "stdout" : "stderr", piece));
  let isOver = false;
  const done = (status: object): void => {
    if (isOver) return;
    isOver = true;
    session.write("error", Buffer.from(JSON.stringify({ metadata: {}, ...status })));
    session.end();
  };
  child.on("error", (error) => done({ status: "Failure", message: error.message, reason: "InternalError", code: 500 }));
  child.on("close", (code) => {
    if (code === 0) return done({ status: "Success" });
    const causes = [{ reason: "ExitCode", message: String(code) }];
    const message = `command terminated with non-zero exit code: exit status ${code}`;
    done({ status: "Failure", message, reason: "NonZeroExitCode", details: { causes } });
  });
  session.onGone(() => child.kill());
}

/** Writes a log of three lines; with `follow`, a line every 50 ms until the client leaves. */
function writeLog(url: URL, response: ServerResponse): void {
  response.setHeader("Content-Type", "text/plain");
  response.write(`${url.pathname}\n${url.search}\nlast\n`);
  if (url.searchParams.get("follow") !== "true") {
    response.end();
    return;
  }
  let count = 0;
  const timer = setInterval(() => response.write(`line ${++count}\n`), 50);
  response.once("close", () => clearInterval(timer));
}

function spdySession(streams: ReadonlyMap<string, SpdyStream>, socket: Duplex): Session {
  return {
    read: (channel, take) => streams.get(channel)?.read(take),
    write: (channel, bytes) => streams.get(channel)?.write(bytes),
    onGone: (callback) => void socket.once("close", callback),
    end() {
      for (const stream of streams.values()) stream.end();
      socket.end();
    },
  };
}

function forwardBySpdy(socket: Duplex, early: Buffer): void {
  const errors = new Map<string, SpdyStream>();
  serveSpdy(socket, early, (stream) => {
    const { streamtype, port, requestid = "" } = stream.headers;
    if (streamtype === "error") return void errors.set(requestid, stream);
    const target = connect(Number(port), "127.0.0.1");
    const error = errors.get(requestid);
    target.on("data", (piece: Buffer) => stream.write(piece));
    target.on("error", (problem) => error?.write(Buffer.from(`cannot connect: ${problem.message}`)));
    target.on("close", () => {
      error?.end();
      stream.end();
    });
    stream.read((piece) => (piece === undefined ? target.end() : target.write(piece)));
  });
}

/** Forwards one port, by the channels 0 (data) and 1 (errors), each of which begins with the port. */
function forwardByChannels(url: URL, session: Session): void {
  const port = Number(url.searchParams.get("port"));
  const head = Buffer.from([port & 0xff, port >> 8]);
  session.write("stdin", head);
  session.write("stdout", head);
  const target = connect(port, "127.0.0.1");
  target.on("data", (piece: Buffer) => session.write("stdin", piece));
  target.on("error", (error) => session.write("stdout", Buffer.from(error.message)));
  target.on("close", () => session.end());
  session.read("stdin", (piece) => (piece === undefined ? target.end() : target.write(piece)));
}

function webSocketSession({ headers }: IncomingMessage, socket: Duplex, early: Buffer): Session {
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${websocketGuid}`).digest("base64");
  const protocol = headers["sec-websocket-protocol"]?.split(/,\s*/)[0];
  const chosen = protocol === undefined ? "" : `Sec-WebSocket-Protocol: ${protocol}\r\n`;
  const head = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n${chosen}`;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${head}\r\n`);
  const takers = new Map<number, (piece: Buffer | undefined) => void>();
  readMessages(socket, early, (message) => {
    if (message === undefined) for (const take of takers.values()) take(undefined);
    else takers.get(message[0]!)?.(message.subarray(1));
  });
  return {
    read: (channel, take) => void takers.set(channels.indexOf(channel), take),
    write(channel, bytes) {
      const message = Buffer.concat([Buffer.from([channels.indexOf(channel)]), bytes]);
      if (socket.writable) socket.write(frameOf(2, message));
    },
    end: () => void socket.end(frameOf(8, Buffer.from([3, 0xe8]))),
    onGone: (callback) => void socket.once("close", callback),
  };
}

/** Returns a frame without a mask. */
function frameOf(op: number, payload: Buffer): Buffer {
  const head = payload.length < 126 ? Buffer.alloc(2) : Buffer.alloc(4);
  head[0] = 0x80 | op;
  head[1] = payload.length < 126 ? payload.length : 126;
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** Calls back with each message, and with `undefined` at the end. Masks are removed. */
export function readMessages(socket: Duplex, early: Buffer, take: (message: Buffer | undefined) => void): void {
  let waiting = early;
  let message: Buffer[] = [];
  let isOver = false;
  const end = (): void => {
    if (!isOver) take(undefined);
    isOver = true;
  };
  const advance = (): void => {
    for (;;) {
      if (waiting.length < 2) return;
      const short = waiting[1]! & 0x7f;
      const isMasked = (waiting[1]! & 0x80) !== 0;
      const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
      const start = 2 + lengthBytes + (isMasked ? 4 : 0);
      if (waiting.length < start) return;
      const length =
        lengthBytes === 0 ? short : waiting.readUIntBE(2 + Math.max(0, lengthBytes - 6), Math.min(6, lengthBytes));
      if (waiting.length < start + length) return;
      const payload = Buffer.from(waiting.subarray(start, start + length));
      if (isMasked) for (let at = 0; at < length; at++) payload[at]! ^= waiting[start - 4 + (at % 4)]!;
      const [op, isFinal] = [waiting[0]! & 0xf, (waiting[0]! & 0x80) !== 0];
      waiting = waiting.subarray(start + length);
      if (op === 8) return end();
      if (op > 8) continue;
      message.push(payload);
      if (!isFinal) continue;
      take(Buffer.concat(message));
      message = [];
    }
  };
  socket.on("data", (piece: Buffer) => {
    waiting = Buffer.concat([waiting, piece]);
    advance();
  });
  socket.on("close", end);
  advance();
}
