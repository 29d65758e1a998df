/**
 * Calls out of the process, to webhooks and identity providers: bounded in time and size, over connections that are
 * kept, with exactly the trust they were opened with. A redirect is an answer like any other: nobody follows it, so no
 * answer can send the server, and the credentials it carries, to another place.
 */
import type { IncomingMessage } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import type { Clock } from "#std/clock.ts";

// Not imported: that would also read every other name the module has, and load another HTTP client (24 ms, 15 MB).
const { Agent: PlainAgent, request: plainRequest } = process.getBuiltinModule("node:http");

export interface OutgoingOptions {
  readonly clock: Clock;
  /** Authorities of the peer's certificate, PEM; the machine's when undefined. */
  readonly ca?: string;
  /** Client certificate and its key, PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Name the peer's certificate must have, when it is not the host of the URL. */
  readonly serverName?: string;
  /** Takes any certificate. Only for those who asked for it in a configuration file. */
  readonly insecure?: boolean;
  /** Most connections at a time, further calls wait for one; default 64. */
  readonly connectionsMax?: number;
}

export interface OutgoingCall {
  /** `https://…`, or `http://…` where a configuration allows it. */
  readonly url: string;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** From the call to the last byte of the answer, waiting for a connection included. */
  readonly timeoutMs: number;
  /** Most bytes of the answer's body. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface OutgoingAnswer {
  readonly code: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface Outgoing {
  /**
   * Resolves with any answer, whatever its code. Rejects with the system's error (`ECONNREFUSED`), OpenSSL's
   * (`SELF_SIGNED_CERT_IN_CHAIN`), or an `OutgoingError`; no message holds a header or a body.
   */
  callOut(call: OutgoingCall): Promise<OutgoingAnswer>;
  /** Ends connections and the calls under way. */
  close(): void;
}

/** A call that the caller's own bounds ended. */
export class OutgoingError extends Error {
  readonly code: "TIMEOUT" | "TOO_LARGE" | "ABORTED";

  constructor(code: "TIMEOUT" | "TOO_LARGE" | "ABORTED", message: string) {
    super(message);
    this.name = "OutgoingError";
    this.code = code;
  }
}

const headerBytesMax = 64 * 1024;

export function openOutgoing(options: OutgoingOptions): Outgoing {
  const { clock, ca, cert, key, serverName, insecure } = options;
  const pool = { keepAlive: true, maxSockets: options.connectionsMax ?? 64, maxFreeSockets: 8, timeout: 90_000 };
  const agents = {
    "https:": new Agent({
      ...pool,
      rejectUnauthorized: insecure !== true,
      minVersion: "TLSv1.2",
      // Whoever is named an authority is one, signed by another one or not.
      ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    }),
    "http:": new PlainAgent(pool),
  };

  function send(call: OutgoingCall, deadlineMs: number, isRetry: boolean): Promise<OutgoingAnswer> {
    const url = new URL(call.url);
    const { signal, body, timeoutMs, maxBytes } = call;
    const secure = url.protocol === "https:";
    if (!secure && url.protocol !== "http:") {
      return Promise.reject(new TypeError(`${url.protocol}// is no protocol for a call`));
    }
    if (signal?.aborted === true) return Promise.reject(aborted());
    return new Promise((resolve, reject) => {
      const request = (secure ? tlsRequest : plainRequest)(url, {
        agent: secure ? agents["https:"] : agents["http:"],
        method: call.method ?? "GET",
        headers: { ...call.headers, ...(body === undefined ? {} : { "content-length": body.length }) },
        maxHeaderSize: headerBytesMax,
      });
      let isSettled = false;
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
        fail(new OutgoingError("TIMEOUT", `no answer from ${url.host} within ${timeoutMs}ms`));
      });
      const abort = (): void => fail(aborted());
      signal?.addEventListener("abort", abort, { once: true });
      request.on("error", (error) => {
        if (isSettled) return;
        // The peer closed a kept connection just when it was used again: that says nothing about the call.
        if (request.reusedSocket && !isRetry && (error as NodeJS.ErrnoException).code === "ECONNRESET") {
          settle();
          resolve(send(call, deadlineMs, true));
        } else fail(error);
      });
      request.once("response", (response) => {
        readBody(response, maxBytes).then((whole) => {
          settle();
          resolve({ code: response.statusCode ?? 0, headers: response.headers, body: whole });
        }, fail);
      });
      request.end(body);
    });
  }

  return {
    callOut: (call) => send(call, clock.monotonic() + call.timeoutMs, false),
    close() {
      agents["https:"].destroy();
      agents["http:"].destroy();
    },
  };
}

const aborted = (): OutgoingError => new OutgoingError("ABORTED", "the call was given up");

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
