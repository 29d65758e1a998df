/**
 * Transports of the process to itself, one per user. They pass requests to the chain that sockets use, with
 * authentication and authorization. The transport itself identifies the user, so there is no token that could leak.
 */
import { randomUUID } from "node:crypto";
import { type Authentication, type Authenticator, noCredentials } from "#authn/authenticator.ts";
import { eventOfLine, type ReceivedEvent } from "#client/received-event.ts";
import type { ClientRequest, ClientResponse, LeaseVersion, Transport } from "#client/transport.ts";
import type { ApiRequest, Headers, Reply, StreamSink } from "#http/api-request.ts";
import type { Requirements } from "#meta/request-context.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { unknownUser } from "#http/api-request.ts";
import { unknownInfo } from "#http/request-info.ts";

interface InProcessOptions {
  handle(request: ApiRequest): MaybePromise<Reply>;
  /** The user that makes the requests. */
  readonly user: UserInfo;
  /** The user agent. Its first word is the field manager of written objects. */
  readonly userAgent: string;
  /** Returns the key under which a Lease is stored. */
  leaseKey(lease: LeaseVersion): string;
  now(): number;
}

const newline = 0x0a;
/** The maximum bytes of an answer of this server, which is collected as a whole, and of one of an aggregated server. */
const bodyBytesMax = 512 * 1024 * 1024;
const forwardedBytesMax = 16 * 1024 * 1024;
/** The maximum bytes of a watch event from an aggregated server. */
const lineBytesMax = 16 * 1024 * 1024;

export function inProcessTransport(options: InProcessOptions): Transport {
  const identity: Authentication = { outcome: "user", user: options.user };
  const answer = async (request: ClientRequest, onEvent?: (event: ReceivedEvent) => void): Promise<ClientResponse> => {
    const own = new InProcessRequest(request, options, identity);
    const reply = await options.handle(own);
    try {
      const { warnings } = own;
      if (onEvent === undefined || reply.stream === undefined) {
        return { code: reply.code, body: await bodyOf(reply), warnings };
      }
      await drain(reply, request.signal, onEvent);
      return { code: reply.code, body: Buffer.alloc(0), warnings };
    } finally {
      own.close();
      reply.done?.();
    }
  };
  return { request: (request) => answer(request), stream: answer };
}

/** Authenticates the users of these transports. Requests from listeners can never be recognized as such a user. */
export const ownRequests: Authenticator = {
  authenticate: (credentials) => (credentials instanceof InProcessRequest ? credentials.identity : noCredentials),
};

/** Whether a request is one of these transports: of a controller of this server. */
export const isOwnRequest = (request: object): boolean => request instanceof InProcessRequest;

async function bodyOf(reply: Reply): Promise<Buffer> {
  if (reply.chunks !== undefined)
    return collectChunks(reply.chunks, reply.isForwarded === true ? forwardedBytesMax : bodyBytesMax);
  if (reply.pieces !== undefined) return Buffer.concat([...reply.pieces]);
  if (reply.bytes === undefined) return Buffer.alloc(0);
  return Buffer.isBuffer(reply.bytes) ? reply.bytes : Buffer.concat(reply.bytes);
}

/** Throws when the body has more than `bytesMax` bytes. */
async function collectChunks(chunks: NonNullable<Reply["chunks"]>, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of chunks) {
    length += part.length;
    if (length > bytesMax) throw new Error("the answer of another server is too long");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Resolves at the end of the stream. Events are delivered without backpressure. A consumer that throws ends its stream,
 * and the promise rejects with that error; the producer is not affected.
 */
function drain(reply: Reply, signal: AbortSignal | undefined, onEvent: (event: ReceivedEvent) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const lines = new Lines((line) => onEvent(eventOfLine(line)));
    const finish = (): void => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const guarded = (consume: () => void): void => {
      try {
        consume();
      } catch (error) {
        reject(error);
        abort();
      }
    };
    const sink: StreamSink = {
      blocked: false,
      onDrain: undefined,
      onClose: undefined,
      write(bytes) {
        guarded(() => lines.take(bytes));
        return true;
      },
      event: (event) => guarded(() => onEvent(event)),
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

/** Splits bytes into lines. */
class Lines {
  readonly #onLine: (line: Buffer) => void;
  /** The beginning of a line that is not complete yet. */
  #rest: Buffer[] = [];
  #restLength = 0;

  constructor(onLine: (line: Buffer) => void) {
    this.#onLine = onLine;
  }

  /** Throws for a line without an end after `lineBytesMax` bytes, and every error of the listener. */
  take(bytes: Buffer): void {
    let text = bytes;
    for (let at = text.indexOf(newline); at >= 0; at = text.indexOf(newline)) {
      const end = text.subarray(0, at);
      const line = this.#rest.length === 0 ? end : Buffer.concat([...this.#rest, end]);
      this.#rest = [];
      this.#restLength = 0;
      text = text.subarray(at + 1);
      this.#onLine(line);
    }
    if (text.length === 0) return;
    this.#rest.push(text);
    this.#restLength += text.length;
    if (this.#restLength > lineBytesMax) throw new Error("a line of another server is too long");
  }
}

/** A class rather than an object literal, for the reason that `http/router.ts` gives. */
class InProcessRequest implements ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly remoteAddress = "";
  readonly protocol = "HTTP/1.1";
  readonly clientCertificate = undefined;
  readonly clientCertificateProblem = "";
  readonly receivedMs: number;
  readonly warnings: string[] = [];
  readonly auditId = randomUUID();
  readonly isOwn = true;
  info = unknownInfo;
  user = unknownUser;
  deadlineMs: number;
  readonly requires: Requirements | undefined;
  readonly identity: Authentication;
  #annotations: Map<string, string> | undefined;
  readonly #body: Buffer | undefined;
  readonly #outer: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(request: ClientRequest, options: InProcessOptions, identity: Authentication) {
    this.identity = identity;
    const question = request.path.indexOf("?");
    this.method = request.method;
    this.url = request.path;
    this.path = decodeURIComponent(question < 0 ? request.path : request.path.slice(0, question));
    this.query = new URLSearchParams(question < 0 ? "" : request.path.slice(question + 1));
    this.headers = {
      accept: request.accept ?? "application/json",
      "user-agent": options.userAgent,
      ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
    };
    this.receivedMs = options.now();
    this.deadlineMs = this.receivedMs + 60_000;
    const { lease } = request;
    this.requires =
      lease &&
      ((isRefused) =>
        andThen(lease(isRefused), (held) =>
          held === undefined ? undefined : [{ key: options.leaseKey(held), revision: Number(held.resourceVersion) }],
        ));
    this.#body = request.body;
    this.#outer = request.signal;
    this.#outer?.addEventListener("abort", this.#abort, { once: true });
  }

  get annotations(): ReadonlyMap<string, string> | undefined {
    return this.#annotations;
  }

  annotate(key: string, value: string): void {
    (this.#annotations ??= new Map()).set(key, value);
  }

  headerValues(): readonly string[] {
    return [];
  }

  /** Does nothing: the request has no headers with credentials. */
  forgetHeaders(): void {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#controller.signal.aborted;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  get bodyBytes(): number {
    return this.#body?.length ?? 0;
  }

  body(): Promise<Buffer> {
    return Promise.resolve(this.#body ?? Buffer.alloc(0));
  }

  /** Removes the listener from the signal when the request is answered, since the caller may reuse the signal. */
  close(): void {
    this.#outer?.removeEventListener("abort", this.#abort);
  }
}
