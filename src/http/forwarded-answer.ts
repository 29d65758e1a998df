/** Bodies of forwarded requests, and the replies that are made of the answers of other servers. */
import type { ForwardedAnswer, ForwardedBody } from "#egress/forwarding.ts";
import type { Chunks } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { HandledRequest, Reply, ReplyStream, StreamSink } from "./api-request.ts";
import { plainText } from "./plain-text.ts";
import { isLongRunning } from "./request-info.ts";

/** Returns the body of a request as it comes; `undefined` when there is none. */
export async function bodyOf(request: HandledRequest): Promise<ForwardedBody | undefined> {
  if (request.bodyStream !== undefined) return request.bodyStream();
  const bytes = await request.body(Number.POSITIVE_INFINITY);
  if (bytes.length === 0) return undefined;
  return {
    read({ take, end }) {
      take(bytes);
      end();
    },
    pause: ignore,
    resume: ignore,
    stop: ignore,
  };
}

function ignore(): void {}

/**
 * Headers of the answer that are not passed on: they belong to the connection or to this server, or say who may read
 * the answer.
 */
const droppedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "date",
  "content-length",
  "audit-id",
  "x-kubernetes-pf-flowschema-uid",
  "x-kubernetes-pf-prioritylevel-uid",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
]);

const refusalBytesMax = 64 * 1024;

/** Makes a reply of an answer that keeps the protocol; it is read as a whole, since the connection ends with it. */
export const wholeAnswer = async (answer: ForwardedAnswer): Promise<Reply> => ({
  code: answer.code,
  headers: passedHeaders(answer),
  bytes: await readAnswer(answer, refusalBytesMax),
});

/** Reads the body of an answer, up to this many bytes; the rest is given up. */
export async function readAnswer({ body, destroy }: ForwardedAnswer, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length < bytesMax) continue;
    destroy();
    break;
  }
  return Buffer.concat(pieces).subarray(0, bytesMax);
}

/** Returns the reply in place of a redirection; `undefined` for other answers. */
export function redirectRefused({ code, headers, destroy }: ForwardedAnswer): Reply | undefined {
  if (code < 300 || code > 399 || (headers["location"]?.[0] ?? "") === "") return undefined;
  destroy();
  const bytes = Buffer.from("the backend attempted to redirect this request, which is not permitted");
  return { code: 502, contentType: "text/plain; charset=utf-8", bytes };
}

function passedHeaders(answer: ForwardedAnswer): Record<string, string | readonly string[]> {
  const named = new Set(
    (answer.headers["connection"] ?? [])
      .join(",")
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(answer.headers)) {
    if (droppedHeaders.has(name) || named.has(name)) continue;
    headers[name] = values.length === 1 ? values[0]! : values;
  }
  return headers;
}

/** Types that no browser takes for a page, a script or an image with scripts. */
const plainTypes = /^\s*(?:application\/(?:json|yaml|cbor|vnd\.kubernetes\.protobuf)|text\/plain)\s*(?:;|$)/i;

/** Whether these values of a header say a plain type. A browser takes the last of several types, also of one value. */
const isPlain = (types: readonly string[]): boolean =>
  types.length === 1 && !types[0]!.includes(",") && plainTypes.test(types[0]!);

/**
 * Returns the headers that keep a page of another server apart from the console, whose origin is the same: the browser
 * gives it an origin of its own. Answers of the API have none.
 */
export function isolation({ headers }: ForwardedAnswer): Readonly<Record<string, string>> {
  if (isPlain(headers["content-type"] ?? [])) return {};
  // All policies apply, the other server's too.
  const policies = [...(headers["content-security-policy"] ?? []), sandbox];
  return { "content-security-policy": policies.join(", "), "cross-origin-opener-policy": "unsafe-none" };
}

const sandbox = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts";

/** The largest status code in both protocols. */
const codeMax = 599;

/** Makes the reply of an answer. `changed` are headers that replace those of the answer, by lower-case name. */
export function replyOf(
  request: HandledRequest,
  answer: ForwardedAnswer,
  clock: Clock,
  changed: Readonly<Record<string, string>> = {},
): Reply {
  const { code } = answer;
  if (code < 200 || code > codeMax) {
    answer.destroy();
    return plainText(503, `error trying to reach service: the answer has the status code ${code}\n`);
  }
  const reply = { code, headers: { ...passedHeaders(answer), ...changed } };
  if (code === 204 || code === 304) {
    void drain(answer);
    return reply;
  }
  if (request.method !== "HEAD" && !isLongRunning(request.info))
    return { ...reply, isForwarded: true, chunks: new AnswerBody(answer, clock, request.deadlineMs) };
  const [length] = answer.headers["content-length"] ?? [];
  const headers = length === undefined ? reply.headers : { ...reply.headers, "content-length": length };
  const isSession = request.info.verb !== "watch";
  if (request.method !== "HEAD") return { code, headers, stream: { ...streamOf(answer, clock), isSession } };
  void drain(answer);
  return { code, headers, stream: { open: (sink) => sink.end() } };
}

async function drain({ body }: ForwardedAnswer): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // The body is complete.
  }
}

/** A body that has to be complete by the deadline of its request. */
class AnswerBody implements Chunks {
  length = 0;
  readonly #answer: ForwardedAnswer;
  readonly #clock: Clock;
  readonly #deadlineMs: number;

  constructor(answer: ForwardedAnswer, clock: Clock, deadlineMs: number) {
    this.#answer = answer;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const answer = this.#answer;
    const leftMs = Math.max(0, this.#deadlineMs - this.#clock.now());
    const cancel = this.#clock.after(leftMs, () => answer.destroy());
    try {
      for await (const piece of answer.body) {
        this.length += piece.length;
        yield piece;
      }
    } finally {
      cancel();
    }
  }
}

/** The time after which a client that reads nothing loses its stream. */
const stallMs = 60_000;

/**
 * Streams a body: each chunk is forwarded as it comes. A slow client slows the other server down. A peer that receives
 * messages (WebSockets) gets each chunk as bytes, or in Base64 as text.
 */
export function streamOf(answer: ForwardedAnswer, clock: Clock, isBase64 = false): ReplyStream {
  const pipeBody = async (sink: StreamSink): Promise<void> => {
    let proceed: (() => void) | undefined;
    sink.onDrain = () => proceed?.();
    sink.onClose = () => {
      answer.destroy();
      proceed?.();
    };
    try {
      for await (const piece of answer.body) {
        const isTaken = isBase64
          ? sink.write(Buffer.from(piece.toString("base64")))
          : sink.message === undefined
            ? sink.write(piece)
            : sink.message(piece);
        if (isTaken) continue;
        const cancel = clock.after(stallMs, () => {
          answer.destroy();
          proceed?.();
        });
        await new Promise<void>((resolve) => {
          proceed = resolve;
          if (!sink.blocked) resolve();
        });
        cancel();
      }
      sink.end();
    } catch {
      // The client must see that the body is incomplete.
      if (sink.abort === undefined) sink.end();
      else sink.abort();
    }
  };
  return { open: (sink) => void pipeBody(sink) };
}
