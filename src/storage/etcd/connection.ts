/**
 * One connection to a member of etcd, over HTTP/2, with calls of gRPC. A peer that breaks the protocol loses
 * the connection, and so does one that does not answer a ping, or two calls in a row. `member-line.ts` chooses the
 * members.
 */
import { readFile } from "node:fs/promises";
import { connect as connectSocket, isIP, type Socket } from "node:net";
import { connect as connectTls, type SecureContextOptions, type TLSSocket } from "node:tls";
import { checkNames } from "#std/certificate-names.ts";
import type { Clock } from "#std/clock.ts";
import { EtcdError } from "./client.ts";
import { type CallHandler, type CallOwner, GrpcCall, type OpenCall, problemOf } from "./grpc-call.ts";
import { encodeFields } from "#http2/kept-fields.ts";
import { Http2Client } from "#http2/client.ts";
import { readStatusError } from "./status.ts";

/** The time in which a member must take a connection, with TLS. */
const connectMs = 2000;
/** A member takes pings as an attack that come, twice in a row, within 5 s; some arrive sooner than they are sent. */
const pingMs = 5500;
const pongMs = 5000;
/** A call with less time says nothing about the member: it may have waited for the connection before. */
const fairMs = 500;
/** The maximum of `grpc-timeout`, which has eight digits. */
const timeoutMsMax = 99_999_999;
/** The number of different headers that are kept. */
const headersMax = 64;
/** The number of calls without an answer in time, one after the other, after which the connection is given up. */
const missesMax = 2;

/** The files of TLS, which are read for each connection, so that certificates can be replaced. */
export interface EtcdTlsFiles {
  readonly authority?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export class MemberConnection {
  readonly endpoint: string;
  readonly #connection: Http2Client;
  readonly #fields: readonly (readonly [name: string, value: string])[];
  /** The headers of calls by their path and timeout, of which there are few. */
  readonly #headers = new Map<string, Buffer>();
  readonly #clock: Clock;
  /** Calls back once, when the connection takes no new calls any more. */
  readonly #ended: (error: EtcdError) => void;
  #problem: EtcdError | undefined;
  #calls = 0;
  #misses = 0;
  #cancelPing: () => void;
  readonly #owner: CallOwner = {
    broken: (reason) => this.break(reason),
    tooLong: (bytes) => this.#error("answerTooLarge", `an answer has ${bytes} bytes`, true),
    refused: (code, message) => {
      const { error, isUnusable } = readStatusError(code, message, this.endpoint);
      if (isUnusable) this.retire(error);
      return error;
    },
    lost: (isUntouched) => {
      const problem = this.#problem ?? this.#error("unanswered", "the call was broken off");
      if (problem.kind === "unauthorized") return problem;
      return new EtcdError(isUntouched ? "unsent" : "unanswered", problem.message, this.endpoint);
    },
    closed: () => {
      this.#calls--;
      if (this.#problem !== undefined && this.#calls === 0) this.#connection.close();
    },
  };

  private constructor(socket: Socket, endpoint: string, clock: Clock, ended: (error: EtcdError) => void) {
    this.endpoint = endpoint;
    const scheme = endpoint.startsWith("https:") ? "https" : "http";
    const authority = endpoint.startsWith("unix:") ? "localhost" : new URL(endpoint).host;
    const named = { te: "trailers", "content-type": "application/grpc", hasleader: "true" };
    this.#fields = [[":method", "POST"], [":scheme", scheme], [":authority", authority], ...Object.entries(named)];
    this.#clock = clock;
    this.#ended = ended;
    this.#connection = new Http2Client(socket, {
      goingAway: () => this.retire(this.#error("unanswered", "the member closes the connection")),
      ended: (error) => this.#endWith(error),
    });
    this.#cancelPing = clock.after(pingMs, () => this.#ping());
  }

  /**
   * Opens a connection. `ended` is called once, when it takes no new calls any more; calls on their way may still be
   * answered then.
   */
  static async open(
    endpoint: string,
    files: EtcdTlsFiles,
    clock: Clock,
    ended: (error: EtcdError) => void,
  ): Promise<MemberConnection> {
    const failed = (cause: unknown): EtcdError => {
      const kind = isRefusedCertificate(cause) ? "unauthorized" : "unsent";
      return new EtcdError(kind, `etcd at ${endpoint}: ${problemOf(cause)}`, undefined, { cause });
    };
    let socket: Socket;
    try {
      socket = openSocket(endpoint, endpoint.startsWith("https:") ? await readTls(files) : {});
    } catch (error) {
      throw failed(error);
    }
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => {
        cancel();
        socket.destroy();
        reject(failed(cause));
      };
      const closed = (): void => fail("the connection was closed");
      const cancel = clock.after(connectMs, () => fail(`no connection in ${connectMs / 1000} s`));
      socket.on("error", fail);
      socket.once("close", closed);
      socket.once(isEncrypted(socket) ? "secureConnect" : "connect", () => {
        if (isEncrypted(socket) && socket.alpnProtocol !== "h2") return fail("the member does not speak HTTP/2");
        cancel();
        socket.off("close", closed);
        socket.off("error", fail);
        resolve(new MemberConnection(socket, endpoint, clock, ended));
      });
    });
  }

  /** Whether it takes calls. */
  get isOpen(): boolean {
    return this.#problem === undefined;
  }

  /** Sends a call with one message, and resolves with what `read` makes of the one message of the answer. */
  call<T>(path: string, frame: Buffer, read: (bytes: Buffer) => T, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let answer: { readonly value: T } | undefined;
      const ended = (error: EtcdError | undefined): void => {
        cancelTimer();
        if (error !== undefined) {
          // A deadline that the member noticed first is one as well.
          if (error.kind === "unanswered") this.miss("", timeoutMs);
          else this.#misses = 0;
          return reject(error);
        }
        if (answer === undefined) return reject(this.break("an answer has no message"));
        this.#misses = 0;
        resolve(answer.value);
      };
      const readOnce = (bytes: Buffer): T => {
        if (answer !== undefined) throw new Error("an answer has two messages");
        return read(bytes);
      };
      const take = (value: T): void => {
        answer = { value };
      };
      const cancelTimer = this.#clock.after(timeoutMs, () => {
        call.cancel();
        reject(this.miss(`no answer in ${timeoutMs / 1000} s`, timeoutMs));
      });
      const call = this.#send(path, timeoutMs, { read: readOnce, take, ended });
      call.end(frame);
    });
  }

  /** Sends a call that goes on, with its first message. */
  stream<T>(path: string, frame: Buffer, handler: CallHandler<T>): OpenCall {
    const call = this.#send(path, undefined, handler);
    call.send(frame);
    return call;
  }

  /** Ends the connection and all of its calls, since the peer breaks the protocol. Returns the error. */
  break(reason: string): EtcdError {
    const error = this.#error("invalid", reason, true);
    this.#fail(error);
    return error;
  }

  /** Counts a call that was not answered in `timeoutMs`, and returns its error. */
  miss(reason: string, timeoutMs: number): EtcdError {
    if (timeoutMs >= fairMs) this.#misses++;
    if (this.#misses >= missesMax)
      this.#fail(this.#error("unanswered", `${missesMax} calls in a row were not answered in time`));
    return this.#error("unanswered", reason);
  }

  /** Lets calls on their way end, and takes no new ones. */
  retire(error: EtcdError): void {
    if (this.#problem !== undefined) return;
    this.#problem = error;
    this.#connection.drain();
    this.#ended(error);
    if (this.#calls === 0) this.#connection.close();
  }

  close(): void {
    this.#end("the connection was closed");
    this.#connection.close();
  }

  /** Sends the headers of a call; `timeoutMs` is left out for one that goes on. */
  #send<T>(path: string, timeoutMs: number | undefined, handler: CallHandler<T>): GrpcCall<T> {
    this.#calls++;
    return new GrpcCall(this.#connection, this.#headersOf(path, timeoutMs), handler, this.#owner);
  }

  #headersOf(path: string, timeoutMs: number | undefined): Buffer {
    const timeout = timeoutMs === undefined ? "" : `${Math.min(Math.ceil(timeoutMs), timeoutMsMax)}m`;
    const name = `${path} ${timeout}`;
    let headers = this.#headers.get(name);
    if (headers !== undefined) return headers;
    const own = timeout === "" ? [] : ([["grpc-timeout", timeout]] as const);
    headers = encodeFields([[":path", path], ...this.#fields, ...own]);
    if (this.#headers.size >= headersMax) this.#headers.clear();
    this.#headers.set(name, headers);
    return headers;
  }

  #ping(): void {
    if (this.#connection.isOver) return;
    this.#cancelPing = this.#clock.after(pingMs, () => this.#ping());
    // A member takes pings without calls as an attack.
    if (this.#calls === 0) return;
    const cancel = this.#clock.after(pongMs, () => {
      this.#fail(this.#error("unanswered", `no answer to a ping in ${pongMs / 1000} s`));
    });
    this.#connection.ping(cancel);
  }

  /** Ends the connection with all calls. */
  #fail(error: EtcdError): void {
    this.#end(error);
    this.#connection.close();
  }

  /** Ends the connection after an error of it; `undefined`: it was closed. */
  #endWith(cause: unknown): void {
    this.#cancelPing();
    if (!isRefusedCertificate(cause)) return this.#end(problemOf(cause ?? "the connection was closed"));
    this.#end(new EtcdError("unauthorized", this.#text(problemOf(cause)), this.endpoint, { cause }));
  }

  #end(reason: EtcdError | string): void {
    if (this.#problem !== undefined) return;
    this.#problem = typeof reason === "string" ? this.#error("unanswered", reason) : reason;
    this.#ended(this.#problem);
  }

  #error(kind: "answerTooLarge" | "invalid" | "unanswered", text: string, mayBeDone = true): EtcdError {
    return new EtcdError(kind, this.#text(text), this.endpoint, { mayBeDone });
  }

  #text(text: string): string {
    return `etcd at ${this.endpoint}: ${text}`;
  }
}

function openSocket(endpoint: string, tls: SecureContextOptions): Socket {
  if (endpoint.startsWith("unix:")) return connectSocket(endpoint.slice("unix://".length));
  const { protocol, hostname, port } = new URL(endpoint);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "http:") return connectSocket({ host, port: Number(port || 80), noDelay: true });
  const name = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...tls, ...name, host, port: Number(port || 443), checkServerIdentity: checkNames };
  return connectTls({ ...options, ALPNProtocols: ["h2"] }).setNoDelay(true);
}

const isEncrypted = (socket: Socket): socket is TLSSocket => "alpnProtocol" in socket;

async function readTls({ authority, certificate, key }: EtcdTlsFiles): Promise<SecureContextOptions> {
  const read = (file: string | undefined): Promise<Buffer> | undefined =>
    file === undefined ? undefined : readFile(file);
  const [ca, cert, privateKey] = await Promise.all([read(authority), read(certificate), read(key)]);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(privateKey === undefined ? {} : { key: privateKey }),
  };
}

/** Whether a peer refuses our certificate: it sends an alert of TLS, of which Node makes an error. */
const isRefusedCertificate = (error: unknown): boolean =>
  error instanceof Error && "code" in error && /ALERT_(?:\w*CERTIFICATE|UNKNOWN_CA)/.test(String(error.code));
