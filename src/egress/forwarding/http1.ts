/** Calls over HTTP/1.1. Each call has a connection for itself. */
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { hostPort, type ServiceAddress } from "../service-address.ts";
import {
  type Forwarded,
  type ForwardedAnswer,
  headerBytesMax,
  idleMs,
  isRepeatable,
  pipeBody,
  type Sending,
  type UpgradedAnswer,
} from "./call.ts";

// A static import would also read all other exports of the module, and load another HTTP client (24 ms, 15 MB).
const { Agent: Connections, request: startRequest } = process.getBuiltinModule("node:http");

const idleConnectionsMax = 32;

type Head = Omit<Forwarded, "body">;

export class Http1 {
  readonly #pool = new Connections({ keepAlive: true, maxFreeSockets: idleConnectionsMax, timeout: idleMs });
  readonly #single = new Connections({ keepAlive: false });
  /** The connection on which the call that begins now is sent; `undefined` if an agent chooses one. */
  #socket: Socket | undefined;

  /** `open` makes a connection for a call that has none. */
  constructor(open: (address: ServiceAddress) => MaybePromise<Socket>) {
    for (const agent of [this.#pool, this.#single]) {
      agent.createConnection = ({ host, port }, done) => {
        const socket = this.#socket ?? open({ host: host ?? "", port: Number(port) });
        if (!isLate(socket)) return socket;
        socket.then(
          (made) => done?.(null, made),
          (error: Error) => done?.(error, undefined as never), // a failure has no socket
        );
        return undefined;
      };
    }
  }

  /** Whether there is an idle connection to the address. */
  hasIdle(address: ServiceAddress): boolean {
    const free = this.#pool.freeSockets[this.#pool.getName({ ...address })];
    return free?.some(({ destroyed }) => !destroyed) === true;
  }

  /**
   * Sends the call on `socket`, or on an idle connection. The connection is kept afterwards unless the call is
   * alone.
   */
  send(address: ServiceAddress, call: Forwarded, socket?: Socket): Sending {
    const agent = call.isAlone === true ? this.#single : this.#pool;
    this.#socket = socket;
    try {
      const request = start(agent, address, call, framingOf(call));
      return { answer: exchange(request, call), giveUp: () => request.destroy() };
    } finally {
      this.#socket = undefined;
    }
  }

  /** Sends a request to change the protocol, on a connection of its own. */
  upgrade(address: ServiceAddress, protocol: string, call: Head): Sending<UpgradedAnswer> {
    const request = start(this.#single, address, call, ["Connection", "Upgrade", "Upgrade", protocol]);
    return { answer: exchangeUpgrade(request, call), giveUp: () => request.destroy() };
  }

  /** Closes idle connections. */
  retire(): void {
    for (const sockets of Object.values(this.#pool.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  close(): void {
    this.#pool.destroy();
    this.#single.destroy();
  }
}

const start = (agent: Agent, address: ServiceAddress, call: Head, more: readonly string[]): ClientRequest =>
  startRequest({
    ...address,
    agent,
    method: call.method,
    path: call.path,
    headers: ["Host", call.host ?? hostPort(address), ...call.headers, ...more],
    maxHeaderSize: headerBytesMax,
  });

/** Returns the headers that define the end of the body, if the call has no such headers. */
function framingOf({ method, headers, body }: Forwarded): string[] {
  if (headers.some((name, at) => at % 2 === 0 && name === "content-length")) return [];
  if (body !== undefined) return ["Transfer-Encoding", "chunked"];
  return isRepeatable({ method, body }) || method === "DELETE" ? [] : ["Content-Length", "0"];
}

/** Returns the answer; `undefined` when the kept connection was already closed and the call may be repeated. */
function exchange(request: ClientRequest, call: Forwarded): Promise<ForwardedAnswer | undefined> {
  return new Promise((resolve, reject) => {
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (request.reusedSocket && error.code === "ECONNRESET" && isRepeatable(call)) resolve(undefined);
      else reject(error);
    });
    request.once("response", (response) => {
      response.once("end", () => {
        if (request.writableEnded) return;
        // The rest of the request's body has no use.
        call.body?.stop();
        request.destroy();
      });
      resolve(answerOf(request, response, call.signal));
    });
    // Node emits no other event for a peer that changes the protocol without a request.
    request.once("close", () => reject(new Error("the connection closed before an answer")));
    if (call.body === undefined) request.end();
    else pipeBody(call.body, request, () => request.destroy());
  });
}

function exchangeUpgrade(request: ClientRequest, call: Head): Promise<UpgradedAnswer> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.once("response", (response) => {
      resolve({ kind: "answer", answer: answerOf(request, response, call.signal) });
    });
    request.once("upgrade", (response, connection, early) => {
      const end = (): void => void connection.destroy();
      // The connection may fail before it is used, or its client may have left by then.
      connection.on("error", end);
      call.signal.addEventListener("abort", end, { once: true });
      connection.once("close", () => call.signal.removeEventListener("abort", end));
      if (call.signal.aborted) end();
      resolve({ kind: "upgraded", headers: response.rawHeaders, connection, early });
    });
    request.end();
  });
}

function answerOf(request: ClientRequest, response: IncomingMessage, signal: AbortSignal): ForwardedAnswer {
  const destroy = (): void => void request.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  const settle = (): void => signal.removeEventListener("abort", destroy);
  // The reader of the body gets the error from the body.
  response.on("error", settle);
  response.once("close", settle);
  const headers: Record<string, readonly string[]> = {};
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    if (values === undefined) continue;
    const [first = ""] = values;
    // Node drops repetitions of headers that it expects only once.
    headers[name] = response.headers[name] === first ? [first] : values;
  }
  return { code: response.statusCode ?? 0, headers, body: response, destroy };
}
