/**
 * Connections to a server over the network, as a `Transport`: HTTP/2, or HTTP/1.1 where the server has nothing else,
 * through proxies, with credentials that change. Requests that a server sends away are sent again (`retry.ts`), and a
 * way that is dead is noticed within 15 seconds. Redirects are not followed, so that credentials go nowhere else.
 */
import { type Clock, pause } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type { ConnectionSettings, Credential } from "./connection-settings.ts";
import { ConnectionError } from "./connection-error.ts";
import { type ProxyVariables, proxyOfEnvironment } from "./connection/environment-proxy.ts";
import { exchange, type WireAnswer } from "./connection/exchange.ts";
import { requestHeaders, retryAfterMs, warningsOf } from "./connection/headers.ts";
import type { LineReader } from "./connection/lines.ts";
import { Liveness } from "./connection/liveness.ts";
import { Pools } from "./connection/pools.ts";
import { proxyRefusal } from "./connection/problem.ts";
import { Repetitions } from "./connection/retry.ts";
import { proxyAuthorization } from "./connection/tunnel.ts";
import { Turns } from "./connection/turns.ts";
import { unpack } from "./connection/unpack.ts";
import { eventOfLine } from "./received-event.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** A `Transport` to one server. Its requests reject with `ConnectionError` when no answer comes. */
export interface Connection extends Transport {
  /** Watches, and gives the lines of the answer on as they are; otherwise as `stream`. */
  lines(request: ClientRequest, reader: LineReader): Promise<ClientResponse>;
  /** Ends all requests and connections. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly userAgent: string;
  /** The variables that name proxies, if the settings name none; by default those of the process. */
  readonly environment?: ProxyVariables;
  readonly timing?: Partial<typeof defaultTiming>;
  /** The maximum bytes of a whole answer, packed and unpacked; default: 512 MB. */
  readonly bodyBytesMax?: number;
}

/** Times in milliseconds. */
const defaultTiming = {
  /**
   * The time between two pings over HTTP/2. A connection that has not answered until the next is given up. A program
   * that is busy for so long without a pause gives its own connection up.
   */
  pingMs: 7000,
  /** The maximum time until a connection can be used. */
  connectMs: 10_000,
  /** The silence over HTTP/1.1 after which the server is asked for its version over another connection. */
  silenceMs: 8000,
  /** The time in which the server has to answer this. */
  probeMs: 5000,
  /** The maximum silence of a watch with bookmarks, which servers send each minute, over HTTP/1.1. */
  bookmarkMs: 150_000,
};

/** The maximum bytes of a version. */
const probeBytesMax = 1024 * 1024;
/** The same limit as for calls within the server's process; it is about the longest text that the runtime has. */
const defaultBodyBytesMax = 512 * 1024 * 1024;
/** The maximum number of calls at a time; further calls wait. Watches do not count. */
const callsMax = 256;

/** Opens a connection. Nothing is sent, and undici is not loaded, before the first request. Throws `ConnectionError` for a proxy that cannot be used. */
export function openConnection(settings: ConnectionSettings, options: ConnectionOptions): Connection {
  return new PooledConnection(settings, options);
}

class PooledConnection implements Connection {
  readonly #settings: ConnectionSettings;
  readonly #options: ConnectionOptions;
  readonly #timing: typeof defaultTiming;
  readonly #bodyBytesMax: number;
  readonly #pools: Pools;
  readonly #liveness: Liveness;
  readonly #turns = new Turns(callsMax);
  readonly #prefix: string;
  readonly #proxyAuthorization: string | undefined;
  readonly #closing = new AbortController();

  constructor(settings: ConnectionSettings, options: ConnectionOptions) {
    const { server, tls } = settings;
    const { clock, userAgent, environment = process.env } = options;
    const timing = { ...defaultTiming, ...options.timing };
    const proxy = settings.proxy ?? proxyOfEnvironment(server, environment);
    // A proxy of HTTP gets requests to plain servers as they are, with the whole URL as their path.
    const forwards = proxy !== undefined && server.protocol === "http:" && /^https?:$/.test(proxy.protocol);
    this.#settings = settings;
    this.#options = options;
    this.#timing = timing;
    this.#bodyBytesMax = options.bodyBytesMax ?? defaultBodyBytesMax;
    this.#prefix = (forwards ? server.origin : "") + server.pathname.replace(/\/+$/, "");
    this.#proxyAuthorization = forwards ? forwardingAuthorization(proxy, server) : undefined;
    this.#pools = new Pools({ server, tls, proxy, userAgent, clock, connectMs: timing.connectMs }, timing.pingMs);
    this.#liveness = new Liveness({ clock, ...timing, probe: (signal) => this.#probe(signal) });
  }

  async request(request: ClientRequest): Promise<ClientResponse> {
    const answer = await this.#send(request);
    const isPacked = answer.headers["content-encoding"] === "gzip";
    const body = isPacked ? await unpack(answer.body, this.#bodyBytesMax, this.#address) : answer.body;
    refuseProtobuf(answer, body, request.accept, this.#address);
    return responseOf(answer, body);
  }

  stream(request: ClientRequest, onEvent: Parameters<Transport["stream"]>[1]): Promise<ClientResponse> {
    return this.lines(request, { begin() {}, line: (line) => onEvent(eventOfLine(line)) });
  }

  async lines(request: ClientRequest, reader: LineReader): Promise<ClientResponse> {
    const answer = await this.#send(request, reader);
    return responseOf(answer, answer.body);
  }

  async close(): Promise<void> {
    this.#closing.abort(
      new ConnectionError(`the connection to ${this.#address} is closed`, { sent: false, temporary: false }),
    );
    await this.#pools.close();
  }

  get #address(): string {
    return this.#settings.server.origin;
  }

  /** Sends the request until there is an answer that is final. */
  async #send(request: ClientRequest, reader?: LineReader): Promise<WireAnswer> {
    const { credentials } = this.#settings;
    const { clock, random } = this.#options;
    const closing = this.#closing.signal;
    const signal = request.signal ?? closing;
    const repetitions = new Repetitions(request.method === "GET", random);
    let mayRenew = true;
    let hasBegun = false;
    const take: LineReader | undefined = reader && {
      begin: () => reader.begin(),
      line(line) {
        hasBegun = true;
        reader.line(line);
      },
    };
    for (;;) {
      const credential = await this.#credential(request.signal);
      closing.throwIfAborted();
      signal.throwIfAborted();
      let waitMs: number | undefined;
      try {
        const answer = await this.#try(request, credential, take);
        if (answer.code === 401 && mayRenew && credentials.rejected(credential)) {
          mayRenew = false;
          continue;
        }
        waitMs = repetitions.afterAnswer(answer);
        if (waitMs === undefined) return answer;
      } catch (error) {
        // The caller has had events, and knows where to go on.
        waitMs = hasBegun ? undefined : repetitions.afterError(error);
        if (waitMs === undefined) throw error;
      }
      await pause(clock, waitMs, AbortSignal.any([signal, closing]));
    }
  }

  /** Resolves with the credential. The waiting ends with the signal or with the connection. */
  async #credential(signal?: AbortSignal): Promise<Credential> {
    const sources = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    const ended = new AbortController();
    const end = (): void => ended.abort(sources.find(({ aborted }) => aborted)?.reason);
    for (const source of sources) source.throwIfAborted();
    for (const source of sources) source.addEventListener("abort", end);
    try {
      return await this.#settings.credentials.current(ended.signal);
    } finally {
      // `AbortSignal.any` would take many times as long with signals that live on.
      for (const source of sources) source.removeEventListener("abort", end);
    }
  }

  /** Sends the request once. */
  async #try(request: ClientRequest, credential: Credential, reader?: LineReader): Promise<WireAnswer> {
    const { method, path, body, signal = this.#closing.signal, lease } = request;
    const pool = await this.#pools.withCertificate(credential.certificate);
    if (reader === undefined) await this.#turns.take(signal);
    try {
      if (lease !== undefined && (await lease()) === undefined) {
        throw new ConnectionError("the write is no longer wanted", { sent: false, temporary: false });
      }
      const wire = {
        method,
        path: this.#prefix + path,
        // A watch is many small answers, which come late when they are compressed.
        headers: this.#headers(request, credential, this.#settings.compress && reader === undefined),
        body,
        signal: request.signal,
        address: this.#address,
        bodyBytesMax: this.#bodyBytesMax,
        reader,
        idleMs: /[?&]allowWatchBookmarks=(?:true|1)\b/.test(path) ? this.#timing.bookmarkMs : undefined,
      };
      return notRedirected(
        await exchange(pool.dispatcher, wire, () => (pool.isHttp1 ? this.#liveness : undefined)),
        this.#address,
      );
    } finally {
      if (reader === undefined) this.#turns.end();
    }
  }

  #headers(request: ClientRequest, credential: Credential, compress: boolean): string[] {
    const { userAgent } = this.#options;
    const { impersonate } = this.#settings;
    return requestHeaders(
      request,
      credential,
      { userAgent, impersonate, proxyAuthorization: this.#proxyAuthorization },
      compress,
    );
  }

  /** Asks the server for its version. Resolves whatever it says. */
  async #probe(signal: AbortSignal): Promise<void> {
    const request = { method: "GET", path: "/version" } as const;
    const credential = await this.#settings.credentials.current(signal);
    const pool = await this.#pools.withCertificate(credential.certificate);
    const headers = this.#headers(request, credential, false);
    const wire = {
      ...request,
      path: this.#prefix + request.path,
      headers,
      signal,
      address: this.#address,
      bodyBytesMax: probeBytesMax,
    };
    await exchange(pool.dispatcher, wire, () => undefined);
  }
}

/** Returns the header for a proxy that gets requests as they are. Throws `ConnectionError`. */
function forwardingAuthorization(proxy: URL, server: URL): string | undefined {
  try {
    return proxyAuthorization(proxy);
  } catch (error) {
    throw proxyRefusal(error, proxy, server.host);
  }
}

function responseOf(answer: WireAnswer, body: Buffer): ClientResponse {
  const waitMs = retryAfterMs(answer.headers);
  return {
    code: answer.code,
    body,
    warnings: warningsOf(answer.headers),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  };
}

const protobufType = "application/vnd.kubernetes.protobuf";
/** The first bytes of Kubernetes' protobuf. */
const protobufPrefix = "k8s\0";

/** Throws for an answer in protobuf that nobody can read, or that was not asked for. */
function refuseProtobuf({ headers }: WireAnswer, body: Buffer, accept: string | undefined, address: string): void {
  const type = headers["content-type"];
  if (typeof type !== "string" || !type.startsWith(protobufType)) return;
  const refuse = (problem: string): ConnectionError =>
    new ConnectionError(`${address} answered in protobuf, ${problem}`, { sent: true, temporary: false });
  if (body.toString("latin1", 0, protobufPrefix.length) !== protobufPrefix) {
    throw refuse("but not in Kubernetes' form: its first four bytes are others");
  }
  if (accept?.includes(protobufType) !== true) throw refuse("which was not asked for");
}

/** Returns the answer. Throws for one that leads elsewhere. Upstream: client-go follows, with the credentials. */
function notRedirected(answer: WireAnswer, address: string): WireAnswer {
  if (answer.code < 300 || answer.code > 399) return answer;
  const { location } = answer.headers;
  const target = typeof location === "string" ? URL.parse(location, address) : null;
  const where = target === null ? "" : ` to ${target.origin}${target.pathname}`;
  throw new ConnectionError(
    `${address} leads elsewhere (${answer.code}${where}), and redirects are not followed: is this the address of an API server?`,
    { sent: false, temporary: false },
  );
}
