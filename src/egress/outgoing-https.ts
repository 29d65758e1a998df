/**
 * Outgoing HTTPS calls to webhooks and identity providers: bounded in time and size, over kept connections, with a
 * fixed set of trusted authorities. Redirects are not followed, so no answer can send the server and its credentials
 * elsewhere.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { type ConnectionOptions, TLSSocket } from "node:tls";
import { checkNames } from "#std/certificate-names.ts";
import type { Clock } from "#std/clock.ts";
import { type OpenTunnel, tlsThrough } from "./proxy-tunnel.ts";
import { keepRefused } from "./refused-certificate.ts";

// A static import would also read all other exports of the module, and load another HTTP client (24 ms, 15 MB).
const { Agent: PlainAgent, request: plainRequest } = process.getBuiltinModule("node:http");

export interface OutgoingOptions {
  readonly clock: Clock;
  /** Authorities of the peer's certificate, as PEM; `undefined` for the machine's authorities. */
  readonly ca?: string;
  /** The client certificate and its key, as PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** The name that the peer's certificate must have, when it is not the host of the URL. */
  readonly serverName?: string;
  /** Whether any certificate is accepted. Only for peers whose configuration file says so. */
  readonly insecure?: boolean;
  /** Begins the connections, through a proxy. Left out: they are direct. */
  readonly tunnel?: OpenTunnel | undefined;
  /** The maximum number of connections; further calls wait for one. The default is 64. */
  readonly connectionsMax?: number;
}

export interface OutgoingCall {
  /** The URL as `https://…`, or `http://…` if a configuration allows it. */
  readonly url: string;
  /** The default is GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** The maximum time from the call to the last byte of the answer, including the wait for a connection. */
  readonly timeoutMs: number;
  /** The maximum bytes of the answer's body. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly code: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface Outgoing {
  /**
   * Resolves with any answer, whatever its code. Rejects with the system's error (`ECONNREFUSED`), OpenSSL's
   * (`SELF_SIGNED_CERT_IN_CHAIN`), or an `OutgoingError`; no message contains a header or a body.
   */
  callOut(call: OutgoingCall): Promise<OutgoingAnswer>;
  /** Closes connections and aborts pending calls. */
  close(): void;
}

/** Outgoing calls whose connections can be given up while calls are pending. */
export interface RetirableOutgoing extends Outgoing {
  /** Closes idle connections at once, and the connections of pending calls when the calls end. */
  retire(): void;
}

/** The error of a call that exceeded one of the caller's own limits. */
export class OutgoingError extends Error {
  readonly code: "TIMEOUT" | "TOO_LARGE" | "ABORTED";
  /** The step that took too long, if it is known and not the wait for the head of the answer. */
  readonly step: "handshake" | "body" | undefined;

  constructor(code: "TIMEOUT" | "TOO_LARGE" | "ABORTED", message: string, step?: "handshake" | "body") {
    super(message);
    this.name = "OutgoingError";
    this.code = code;
    this.step = step;
  }
}

const headerBytesMax = 64 * 1024;
/** The time in which a proxy must make a connection, in milliseconds. */
const tunnelMs = 30_000;
/** The maximum time of a handshake in milliseconds, as in Go. */
const handshakeMs = 10_000;

export function openOutgoing(options: OutgoingOptions): RetirableOutgoing {
  const { clock, ca, cert, key, serverName, insecure } = options;
  const pool = { keepAlive: true, maxSockets: options.connectionsMax ?? 64, maxFreeSockets: 8, timeout: 90_000 };
  const secure = new Agent({
    ...pool,
    rejectUnauthorized: insecure !== true,
    checkServerIdentity: (host, certificate) => checkNames(serverName ?? host, certificate),
    minVersion: "TLSv1.2",
    // Every configured authority is a trust anchor, even if another authority signed it.
    ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // An address is no name that a server could be asked for, but one of its certificate.
    ...(serverName === undefined || isIP(serverName) !== 0 ? {} : { servername: serverName }),
  });
  const plain = new PlainAgent(pool);
  const { tunnel } = options;
  if (tunnel !== undefined) {
    const through =
      (finish: (socket: Socket, init: ConnectionOptions) => Socket): typeof secure.createConnection =>
      (init, done) => {
        const { opened, socket: begun } = tunnel({ host: init.host ?? "", port: Number(init.port) });
        // The call may be given up long before: a proxy that is silent would keep the place of a connection for ever.
        const cancel = clock.after(tunnelMs, () => {
          begun.destroy(new OutgoingError("TIMEOUT", `the proxy made no connection within ${tunnelMs}ms`));
        });
        // Safe: the options of an agent are those of TLS, and a failure has no socket.
        opened.then(
          (socket) => {
            cancel();
            done?.(null, finish(socket, init as ConnectionOptions));
          },
          (error: Error) => {
            cancel();
            done?.(error, undefined as never);
          },
        );
        return undefined;
      };
    secure.createConnection = through(tlsThrough);
    plain.createConnection = through((socket) => socket);
  }
  const start: StartRequest = (url, init) =>
    url.protocol === "https:"
      ? tlsRequest(url, { ...init, agent: secure })
      : plainRequest(url, { ...init, agent: plain });
  return {
    callOut: (call) =>
      send({ call, url: new URL(call.url), deadlineMs: clock.monotonic() + call.timeoutMs, start, clock, ca }),
    retire() {
      for (const agent of [secure, plain]) {
        agent.maxFreeSockets = 0;
        for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      }
    },
    close() {
      secure.destroy();
      plain.destroy();
    },
  };
}

type StartRequest = (url: URL, init: Pick<RequestOptions, "method" | "headers" | "maxHeaderSize">) => ClientRequest;

/** A pending call. */
interface Sending {
  readonly call: OutgoingCall;
  readonly url: URL;
  readonly deadlineMs: number;
  readonly start: StartRequest;
  readonly clock: Clock;
  readonly ca: string | undefined;
}

async function send(sending: Sending): Promise<OutgoingAnswer> {
  const { url, call } = sending;
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError(`${url.protocol}// is no protocol for a call`);
  }
  if (call.signal?.aborted === true) throw abortedError();
  // The peer may close a kept connection just when it is used again, so such a failure does not concern the call.
  return (await attempt(sending, true)) ?? (await attempt(sending, false))!; // the second gives up nothing
}

/** Returns the answer; `undefined` when `mayRepeat` and a kept connection was already closed. */
function attempt(
  { call, url, deadlineMs, start, clock, ca }: Sending,
  mayRepeat: boolean,
): Promise<OutgoingAnswer | undefined> {
  const { signal, body, timeoutMs, maxBytes } = call;
  return new Promise((resolve, reject) => {
    const request = start(url, {
      method: call.method ?? "GET",
      headers: { ...call.headers, ...(body === undefined ? {} : { "content-length": body.length }) },
      maxHeaderSize: headerBytesMax,
    });
    let isSettled = false;
    let step: "body" | undefined;
    const settle = (): void => {
      isSettled = true;
      cancel();
      signal?.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      if (isSettled) return;
      settle();
      reject(error);
      request.destroy();
    };
    const cancel = clock.after(Math.max(0, deadlineMs - clock.monotonic()), () => {
      fail(new OutgoingError("TIMEOUT", `no answer from ${url.host} within ${Math.ceil(timeoutMs)}ms`, step));
    });
    const abort = (): void => fail(abortedError());
    signal?.addEventListener("abort", abort, { once: true });
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (isSettled) return;
      if (!mayRepeat || !request.reusedSocket || error.code !== "ECONNRESET") return fail(error);
      settle();
      resolve(undefined);
    });
    request.once("socket", (socket) => {
      if (!(socket instanceof TLSSocket) || request.reusedSocket) return;
      keepRefused(socket, { clock, ca });
      limitHandshake(socket, clock, fail);
    });
    request.once("response", (response) => {
      step = "body";
      readBody(response, maxBytes).then((whole) => {
        settle();
        resolve({ code: response.statusCode ?? 0, headers: response.headers, body: whole });
      }, fail);
    });
    request.end(body);
  });
}

/** Fails when a handshake takes too long. */
function limitHandshake(socket: TLSSocket, clock: Clock, fail: (error: OutgoingError) => void): void {
  const begin = (): void => {
    const cancel = clock.after(handshakeMs, () => {
      fail(new OutgoingError("TIMEOUT", `no TLS handshake within ${handshakeMs}ms`, "handshake"));
    });
    socket.once("secureConnect", cancel).once("close", cancel);
  };
  if (socket.connecting) socket.once("connect", begin);
  else begin();
}

const abortedError = (): OutgoingError => new OutgoingError("ABORTED", "the call was given up");

function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    response.on("data", (piece: Buffer) => {
      length += piece.length;
      if (length > maxBytes) reject(new OutgoingError("TOO_LARGE", `the answer is longer than ${maxBytes} bytes`));
      else pieces.push(piece);
    });
    response.once("end", () => resolve(Buffer.concat(pieces, length)));
    response.once("error", reject);
    response.once("close", () => reject(new Error("the answer broke off")));
  });
}
