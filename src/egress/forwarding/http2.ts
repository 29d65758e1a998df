/**
 * Calls over one HTTP/2 connection (RFC 9113). Each call has its own flow control window, so a slow client delays no
 * other call. PING frames detect connections that were lost without notice.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { hostPort, type ServiceAddress } from "../service-address.ts";
import { type Forwarded, type ForwardedAnswer, headerBytesMax, idleMs, pipeBody, type Sending } from "./call.ts";

const { NGHTTP2_CANCEL: cancelled, NGHTTP2_NO_ERROR: none, NGHTTP2_REFUSED_STREAM: refusedStream } = constants;

/** The maximum bytes of one answer that are buffered here. */
const streamWindow = 256 * 1024;
/** The maximum bytes of all answers in flight. Node confirms received bytes at once. */
const connectionWindow = 16 * 1024 * 1024;
/** The maximum memory in megabytes that Node may use for a connection; waiting streams count too. */
const sessionMegabytes = 512;
/** The maximum number of streams until the peer has sent its own maximum. */
const usualStreamsMax = 100;
const pingMs = 30_000;
const pongMs = 15_000;

export class Http2 {
  readonly address: ServiceAddress;
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  #streamsMax = usualStreamsMax;
  #streams = 0;
  #isFresh = true;
  #isRetired = false;
  #idleSinceMs: number;
  #cancelLook: () => void;
  #cancelPing: (() => void) | undefined;
  #goAway: { readonly code: number; readonly lastStreamId: number } | undefined;

  /**
   * Takes a connection for which HTTP/2 was negotiated. `closed` is called once, when the connection cannot be used any
   * more.
   */
  constructor(socket: TLSSocket, address: ServiceAddress, clock: Clock, closed: () => void) {
    this.address = address;
    this.#clock = clock;
    this.#idleSinceMs = clock.monotonic();
    const options = {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindow, maxHeaderListSize: headerBytesMax },
      maxSessionMemory: sessionMegabytes,
      // The peer judges headers that a client repeats.
      strictSingleValueFields: false,
    };
    this.#session = connect(`https://${hostPort(address)}`, options);
    this.#session.setLocalWindowSize(connectionWindow);
    this.#session.on("remoteSettings", ({ maxConcurrentStreams = usualStreamsMax }) => {
      this.#streamsMax = maxConcurrentStreams;
    });
    this.#session.on("goaway", (code, lastStreamId) => {
      this.#goAway = { code, lastStreamId };
    });
    // The streams report the error to their callers.
    this.#session.on("error", ignore);
    this.#session.once("close", () => {
      this.#cancelLook();
      this.#cancelPing?.();
      closed();
    });
    this.#cancelLook = clock.after(pingMs, () => this.#look());
  }

  /** Whether the connection accepts another call. It always accepts the first one. */
  get hasRoom(): boolean {
    if (this.#isRetired || this.#session.closed || this.#session.destroyed) return false;
    return this.#isFresh || this.#streams < this.#streamsMax;
  }

  /** Accepts no more calls, and closes after the last one. */
  retire(): void {
    this.#isRetired = true;
    // Node's `close` drops calls that it has not begun to send.
    if (this.#streams === 0) this.#session.close();
  }

  close(): void {
    this.#session.destroy();
  }

  send(call: Forwarded): Sending {
    const { body } = call;
    this.#isFresh = false;
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(this.#headers(call), { endStream: body === undefined });
    } catch (error) {
      return { answer: Promise.reject(error as Error), giveUp: ignore }; // Node throws nothing else
    }
    const giveUp = (): void => {
      stream.close(cancelled);
      stream.destroy();
    };
    this.#streams++;
    let failure: Error | undefined;
    stream.on("error", (error) => {
      failure = error;
    });
    const answer = new Promise<ForwardedAnswer | undefined>((resolve, reject) => {
      stream.once("response", (_headers, _flags, raw) => resolve(answerOf(stream, raw, call, giveUp)));
      stream.once("close", () => {
        this.#streams--;
        if (this.#isRetired) this.retire();
        this.#idleSinceMs = this.#clock.monotonic();
        const isUntouched =
          stream.rstCode === refusedStream || (stream.id ?? 0) > (this.#goAway?.lastStreamId ?? streamIdMax);
        // Upstream: a call whose connection ends is not sent again, unlike one over HTTP/1.1.
        if (isUntouched && body === undefined) resolve(undefined);
        else reject(new Error(this.#problem(stream, failure)));
      });
    });
    if (body !== undefined) pipeBody(body, stream, giveUp);
    return { answer, giveUp };
  }

  #headers({ method, path, host, headers, body }: Forwarded): string[] {
    const out = [":method", method, ":scheme", "https", ":authority", host ?? hostPort(this.address), ":path", path];
    for (let at = 0; at + 1 < headers.length; at += 2) out.push(headers[at]!.toLowerCase(), headers[at + 1]!);
    if (body === undefined && methodsWithBody.has(method) && !out.includes("content-length")) {
      out.push("content-length", "0");
    }
    return out;
  }

  /**
   * Returns the reason why a call ended, in Go's words. Node reports no error when the connection closed, or when the
   * peer cancelled the stream.
   */
  #problem({ id = 0, rstCode }: ClientHttp2Stream, failure: Error | undefined): string {
    if (this.#session.destroyed && this.#goAway !== undefined) {
      const { code, lastStreamId } = this.#goAway;
      const what = `LastStreamID=${lastStreamId}, ErrCode=${codes[code] ?? code}`;
      return `http2: server sent GOAWAY and closed the connection; ${what}, debug=""`;
    }
    if (this.#session.destroyed) return failure?.message ?? "unexpected EOF";
    return `stream error: stream ID ${id}; ${codes[rstCode] ?? rstCode}; received from peer`;
  }

  /** Runs every half minute. */
  #look(): void {
    const isIdle = this.#streams === 0 && this.#clock.monotonic() - this.#idleSinceMs >= idleMs;
    if (isIdle) return this.retire();
    this.#cancelLook = this.#clock.after(pingMs, () => this.#look());
    this.#cancelPing ??= this.#clock.after(pongMs, () => this.#session.destroy(new Error(lost)));
    this.#session.ping((error) => {
      if (error !== null) return;
      this.#cancelPing?.();
      this.#cancelPing = undefined;
    });
  }
}

/** Go's words. */
const lost = "http2: client connection lost";
const streamIdMax = 2 ** 31 - 1;
/** Names of the error codes, by number. */
const codes = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
];

function ignore(): void {}

const methodsWithBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

function answerOf(
  stream: ClientHttp2Stream,
  raw: readonly string[],
  { method, signal, body }: Forwarded,
  destroy: () => void,
): ForwardedAnswer {
  signal.addEventListener("abort", destroy, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", destroy));
  let isWhole = false;
  stream.once("end", () => {
    isWhole = stream.rstCode === none;
    if (stream.writableEnded) return;
    // The rest of the request's body has no use.
    body?.stop();
    stream.close(cancelled);
  });
  const headers: Record<string, string[]> = {};
  for (let at = 0; at + 1 < raw.length; at += 2) (headers[raw[at]!] ??= []).push(raw[at + 1]!);
  const { ":status": [status = ""] = [], ...others } = headers;
  const length = method === "HEAD" ? undefined : headers["content-length"]?.[0];
  /** Yields the body, and throws when the peer ended it early: Node's stream ends without an error in this case. */
  async function* pieces(): AsyncGenerator<Buffer, void> {
    let read = 0;
    for await (const piece of stream as AsyncIterable<Buffer>) {
      read += piece.length;
      yield piece;
    }
    if (!isWhole || read !== Number(length ?? read)) throw new Error("the answer broke off");
  }
  return { code: Number(status), headers: others, body: pieces(), destroy };
}
