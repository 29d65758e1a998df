/**
 * The transport of controllers in this process: builds requests and hands them to the same chain a socket would,
 * authentication and authorization included.
 */
import { randomUUID } from "node:crypto";
import type { ClientRequest, Transport } from "#client/transport.ts";
import type { ApiRequest, Reply, StreamSink } from "#http/api-request.ts";
import type { Soon } from "#std/soon.ts";
import { unknownInfo, unknownUser } from "#http/incoming-request.ts";

export interface InProcessOptions {
  handle(request: ApiRequest): Soon<Reply>;
  /** A bearer token the server's authenticators know. */
  readonly token: string;
  readonly userAgent: string;
  now(): number;
}

const newline = 0x0a;

export function inProcessTransport(options: InProcessOptions): Transport {
  return {
    async request(request) {
      const reply = await options.handle(apiRequest(request, options));
      reply.done?.();
      return { code: reply.code, body: bodyOf(reply) };
    },
    async stream(request, onLine) {
      const reply = await options.handle(apiRequest(request, options));
      if (reply.stream === undefined) {
        reply.done?.();
        return { code: reply.code, body: bodyOf(reply) };
      }
      await drain(reply, request.signal, onLine);
      reply.done?.();
      return { code: reply.code, body: Buffer.alloc(0) };
    },
  };
}

function bodyOf(reply: Reply): Buffer {
  if (reply.pieces !== undefined) return Buffer.concat([...reply.pieces]);
  if (reply.bytes === undefined) return Buffer.alloc(0);
  return Buffer.isBuffer(reply.bytes) ? reply.bytes : Buffer.concat(reply.bytes);
}

/** Resolves when the stream is over. Lines are handed over as they come; a slow consumer is its own problem. */
function drain(reply: Reply, signal: AbortSignal | undefined, onLine: (line: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    let rest: Buffer = Buffer.alloc(0);
    const finish = (): void => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const sink: StreamSink = {
      blocked: false,
      onDrain: undefined,
      onClose: undefined,
      write(bytes) {
        let text = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
        for (let at = text.indexOf(newline); at >= 0; at = text.indexOf(newline)) {
          onLine(text.subarray(0, at));
          text = text.subarray(at + 1);
        }
        rest = text;
        return true;
      },
      end: finish,
    };
    const abort = (): void => {
      sink.onClose?.();
      finish();
    };
    signal?.addEventListener("abort", abort, { once: true });
    reply.stream?.open(sink);
    if (signal?.aborted === true) abort();
  });
}

function apiRequest(request: ClientRequest, options: InProcessOptions): ApiRequest {
  const question = request.path.indexOf("?");
  const path = decodeURIComponent(question < 0 ? request.path : request.path.slice(0, question));
  const now = options.now();
  const controller = new AbortController();
  request.signal?.addEventListener("abort", () => controller.abort(request.signal?.reason), { once: true });
  return {
    method: request.method,
    url: request.path,
    path,
    query: new URLSearchParams(question < 0 ? "" : request.path.slice(question + 1)),
    headers: {
      accept: "application/json",
      authorization: `Bearer ${options.token}`,
      "user-agent": options.userAgent,
      ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
    },
    headerValues: () => [],
    remoteAddress: "",
    protocol: "HTTP/1.1",
    clientCertificate: undefined,
    clientCertificateProblem: "",
    signal: controller.signal,
    get aborted() {
      return controller.signal.aborted;
    },
    abort: (reason) => controller.abort(reason),
    body: () => Promise.resolve(request.body ?? Buffer.alloc(0)),
    info: unknownInfo,
    user: unknownUser,
    receivedMs: now,
    deadlineMs: now + 60_000,
    warnings: [],
    auditId: randomUUID(),
  };
}
