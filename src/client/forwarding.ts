/**
 * Requests that are passed on to another API server, over HTTP/1.1 and TLS: bodies stream both ways at the pace of the
 * slower side, connections are kept, redirects are not followed, and time and size of the answer's head are bounded.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, type AgentOptions, request as tlsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { Clock } from "#std/clock.ts";
import { OutgoingError } from "./outgoing-https.ts";
import { hostPort, type ServiceAddress } from "./service-address.ts";

export interface ForwarderOptions {
  readonly clock: Clock;
  /** Authorities of the peer's certificate, PEM; the machine's when undefined. */
  readonly ca: string | undefined;
  /** Takes any certificate. */
  readonly insecure: boolean;
  /** Name that the peer's certificate must have. */
  readonly serverName: string;
  /** Client certificate and its key, PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Forwarded {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn; none that concern the connection, but `content-length` where it is known. */
  readonly headers: readonly string[];
  readonly body: ForwardedBody | undefined;
  /** From the call to the head of the answer. */
  readonly headMs: number;
  readonly signal: AbortSignal;
}

/** A body on its way in; it can be held back. */
export interface ForwardedBody {
  read(reader: { take(piece: Buffer): void; end(): void; lost(): void }): void;
  pause(): void;
  resume(): void;
  stop(): void;
}

export interface ForwardedAnswer {
  readonly code: number;
  /** Every value, by name in lower case. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Pulled; the peer waits meanwhile. Ends with an error when the peer closes midway. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives up the rest of the body. */
  destroy(): void;
}

/** The peer changed the protocol of the connection, or refused to. */
export type UpgradedAnswer =
  | { readonly kind: "answer"; readonly answer: ForwardedAnswer }
  | {
      readonly kind: "upgraded";
      /** Names and values in turn, as sent. */
      readonly headers: readonly string[];
      readonly connection: Duplex;
      /** What came with the head. */
      readonly early: Buffer;
    };

export interface Forwarder {
  /** Resolves with any answer. Rejects as `Outgoing.callOut` does. */
  send(address: ServiceAddress, call: Forwarded): Promise<ForwardedAnswer>;
  /** The same for a request to change the protocol; it has no body. */
  upgrade(address: ServiceAddress, protocol: string, call: Omit<Forwarded, "body">): Promise<UpgradedAnswer>;
  /** Takes no idle connections into account any more. Running calls go on. */
  retire(): void;
  close(): void;
}

const headerBytesMax = 64 * 1024;
const idleMs = 90_000;
const idleConnectionsMax = 32;

export function openForwarder(options: ForwarderOptions): Forwarder {
  const { ca, insecure, serverName, cert, key } = options;
  const tls: AgentOptions = {
    servername: serverName,
    rejectUnauthorized: !insecure,
    minVersion: "TLSv1.2",
    cert,
    key,
    // Every given authority is an anchor, even if another one signed it.
    ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
  };
  const kept = new Agent({ ...tls, keepAlive: true, maxFreeSockets: idleConnectionsMax, timeout: idleMs });
  // The connection belongs to the new protocol.
  const single = new Agent({ ...tls, keepAlive: false });
  const start = (agent: Agent, { host, port }: ServiceAddress, call: Omit<Forwarded, "body">, more: string[]) =>
    tlsRequest({
      host,
      port,
      agent,
      method: call.method,
      path: call.path,
      headers: ["Host", hostPort({ host, port }), ...call.headers, ...more],
      maxHeaderSize: headerBytesMax,
    });
  return {
    async send(address, call) {
      const framing = framingOf(call);
      const attempt = (mayRepeat: boolean) => {
        const request = start(kept, address, call, framing);
        return exchange(request, call, { clock: options.clock, address, mayRepeat });
      };
      // The peer may close a kept connection just when it is used again. A body cannot be sent twice.
      const first = await attempt(call.body === undefined && repeatable.has(call.method));
      return first ?? (await attempt(false))!; // the second gives up nothing
    },
    async upgrade(address, protocol, call) {
      const request = start(single, address, call, ["Connection", "Upgrade", "Upgrade", protocol]);
      return upgraded(request, call, { clock: options.clock, address, mayRepeat: false });
    },
    retire() {
      for (const sockets of Object.values(kept.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    },
    close() {
      kept.destroy();
      single.destroy();
    },
  };
}

const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** How the end of the body is told, where the headers do not. */
function framingOf({ method, headers, body }: Forwarded): string[] {
  if (headers.some((name, at) => at % 2 === 0 && name === "content-length")) return [];
  if (body !== undefined) return ["Transfer-Encoding", "chunked"];
  return repeatable.has(method) || method === "DELETE" ? [] : ["Content-Length", "0"];
}

interface Attempt {
  readonly clock: Clock;
  readonly address: ServiceAddress;
  readonly mayRepeat: boolean;
}

/** The answer; `undefined` when `mayRepeat` and a kept connection was already closed. */
function exchange(request: ClientRequest, call: Forwarded, attempt: Attempt): Promise<ForwardedAnswer | undefined> {
  const { body } = call;
  return new Promise((resolve, reject) => {
    const waiting = new Waiting(request, call, attempt, (error) => {
      body?.stop();
      reject(error);
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = attempt.mayRepeat && request.reusedSocket && error.code === "ECONNRESET";
      if (isStale && waiting.settle()) resolve(undefined);
      else waiting.fail(error);
    });
    request.once("response", (response) => {
      if (waiting.settle()) resolve(answerOf(request, response, call.signal));
    });
    // Node tells no more of a peer that changes the protocol without being asked to.
    request.once("close", () => waiting.fail(new Error("the connection closed before an answer")));
    if (body === undefined) request.end();
    else pour(body, request);
  });
}

function upgraded(request: ClientRequest, call: Omit<Forwarded, "body">, attempt: Attempt): Promise<UpgradedAnswer> {
  return new Promise((resolve, reject) => {
    const waiting = new Waiting(request, call, attempt, reject);
    request.on("error", (error) => waiting.fail(error));
    request.once("response", (response) => {
      if (waiting.settle()) resolve({ kind: "answer", answer: answerOf(request, response, call.signal) });
    });
    request.once("upgrade", (response, connection, early) => {
      if (waiting.settle()) resolve({ kind: "upgraded", headers: response.rawHeaders, connection, early });
      else connection.destroy();
    });
    request.end();
  });
}

/** Ends a call that has no head in time, or that nobody waits for any more. */
class Waiting {
  readonly #request: ClientRequest;
  readonly #signal: AbortSignal;
  readonly #failed: (error: unknown) => void;
  readonly #cancel: () => void;
  readonly #abort = (): void => this.fail(new OutgoingError("ABORTED", "the call was given up"));
  #isSettled = false;

  constructor(
    request: ClientRequest,
    { headMs, signal }: Pick<Forwarded, "headMs" | "signal">,
    { clock, address }: Attempt,
    failed: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.#failed = failed;
    this.#cancel = clock.after(headMs, () => {
      this.fail(new OutgoingError("TIMEOUT", `no answer from ${hostPort(address)} within ${headMs}ms`));
    });
    signal.addEventListener("abort", this.#abort, { once: true });
    if (signal.aborted) this.#abort();
  }

  /** False when it was settled before. */
  settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#cancel();
    this.#signal.removeEventListener("abort", this.#abort);
    return true;
  }

  fail(error: unknown): void {
    if (!this.settle()) return;
    this.#failed(error);
    this.#request.destroy();
  }
}

/** Sends the body as it comes. A body that breaks off breaks the request off. */
function pour(body: ForwardedBody, request: ClientRequest): void {
  let isPaused = false;
  request.on("drain", () => {
    if (isPaused) body.resume();
    isPaused = false;
  });
  body.read({
    take(piece) {
      if (request.destroyed) return body.stop();
      if (request.write(piece) || isPaused) return;
      isPaused = true;
      body.pause();
    },
    end: () => void request.end(),
    lost: () => void request.destroy(),
  });
}

function answerOf(request: ClientRequest, response: IncomingMessage, signal: AbortSignal): ForwardedAnswer {
  const destroy = (): void => void request.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  const settle = (): void => signal.removeEventListener("abort", destroy);
  // Who waits for the body hears of it there.
  response.on("error", settle);
  response.once("close", settle);
  const headers: Record<string, readonly string[]> = {};
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    if (values === undefined) continue;
    const [first = ""] = values;
    // Node drops repetitions of what can be there only once.
    headers[name] = response.headers[name] === first ? [first] : values;
  }
  return { code: response.statusCode ?? 0, headers, body: response, destroy };
}
