/**
 * Writes a `Reply`, over HTTP/1.1 or HTTP/2: common headers, plain bytes, long bodies in pieces, gzip, streams.
 *
 * Two hot paths, written plainly. A small reply is one header block and one body in one TLS record. A watch batch is one
 * Buffer shared by all watchers: its chunk frame is made once and written to each socket as it is, about 10 us a
 * watcher, nearly all of it TLS and the system call. Numbers and how to get them: `listener.ts`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { constants, type ServerHttp2Stream, sensitiveHeaders } from "node:http2";
import type { Writable } from "node:stream";
import type { Clock } from "#std/clock.ts";
import type { Roster, Seat } from "#std/roster.ts";
import type { Pieces, Reply, StreamSink } from "./api-request.ts";
import type { Gzip, Run } from "./gzip.ts";
import type { IncomingRequest } from "./incoming-request.ts";

// Not imported: that would also read every other name the module has, and load a whole HTTP client (24 ms, 15 MB).
const { STATUS_CODES } = process.getBuiltinModule("node:http");

export interface ReplySettings {
  readonly clock: Clock;
  /** Value of `Strict-Transport-Security`; empty sends none. */
  readonly strictTransport: string;
  /** Whether long replies may be compressed (feature gate `APIResponseCompression`). */
  readonly compress: boolean;
  readonly gzip: Gzip;
  /** A peer that takes nothing for so long, while a reply waits, is cut off. */
  readonly stallMs: number;
}

/** Length from which a compressible reply is compressed. Upstream's threshold; it compresses what is longer. */
export const compressAbove = 128 * 1024;
/** Size of the writes that carry a long body. */
export const pieceLength = 64 * 1024;
/** A body up to this length is one write. */
const wholeMax = 128 * 1024;

/** What a reply is written to: one exchange of one protocol. Implementations: `Http1Wire`, `Http2Wire`. */
interface Wire {
  /** Where body bytes go. */
  readonly body: Writable;
  /** Whether the peer can no longer be reached. */
  readonly gone: boolean;
  /** Sends the header block alone; the body follows piece by piece. `length` is -1 when it is not known. */
  head(code: number, headers: readonly string[], length: number): void;
  /** Sends everything. `bytes` is `undefined` for no body, `length` what Content-Length says. */
  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void;
  sink(): StreamSink & { lost(): void };
  end(): void;
  destroy(): void;
  /** Whether bytes wait for a peer that does not take them. */
  readonly blocked: boolean;
  /** Calls back once the peer took what was written, or is gone. */
  onTaken(callback: () => void): void;
}

/**
 * One exchange from the request to the last byte. `done` is called once, when nothing more will be written: the
 * reply was handed to the connection, or the connection is gone.
 */
export class Exchange {
  readonly request: IncomingRequest;
  readonly #wire: Wire;
  readonly #settings: ReplySettings;
  /** Its place among the exchanges of the connection. */
  readonly #seat: Seat<Exchange>;
  readonly #siblings: Roster<Exchange>;
  readonly #done: () => void;
  #sink: (StreamSink & { lost(): void }) | undefined;
  #reply: Reply | undefined;
  #isDone = false;
  #replied = false;

  constructor(
    request: IncomingRequest,
    wire: Wire,
    settings: ReplySettings,
    siblings: Roster<Exchange>,
    done: () => void,
  ) {
    this.request = request;
    this.#wire = wire;
    this.#settings = settings;
    this.#siblings = siblings;
    this.#seat = siblings.join(this);
    this.#done = done;
  }

  /** Whether something was written already. */
  get replied(): boolean {
    return this.#replied;
  }

  /** Sends a reply. A second one, or one for a peer that went away, is dropped. */
  send(reply: Reply, closeConnection: boolean): void {
    if (this.#replied) return;
    this.#replied = true;
    this.#reply = reply;
    if (this.#wire.gone) {
      reply.stream?.open(closedSink());
      this.finish();
      return;
    }
    const headers = this.#headers(reply, closeConnection);
    const { bytes, pieces, stream } = reply;
    if (stream !== undefined) this.#stream(reply, headers);
    else if (pieces !== undefined) this.#pieces(reply, headers, pieces, pieces.length);
    else if (bytes === undefined || Buffer.isBuffer(bytes)) this.#bytes(reply, headers, bytes);
    else this.#pieces(reply, headers, bytes, totalLength(bytes));
  }

  /** The connection closed, or the stream was reset. */
  lost(): void {
    this.request.abort(clientGone);
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.lost();
    this.finish();
  }

  /** Ends a stream in good order, when the server stops: its owner is told, and the client sees a complete reply. */
  endStream(): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    const onClose = sink.onClose;
    sink.onClose = undefined;
    sink.onDrain = undefined;
    onClose?.();
    sink.end();
  }

  /** Gives up after a failure of our own. */
  destroy(): void {
    this.#wire.destroy();
    this.lost();
  }

  finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#reply?.done?.();
    this.#siblings.leave(this.#seat);
    this.#done();
  }

  /** Names and values in turn. Content-Length, Date and connection headers are the wire's. */
  #headers(reply: Reply, closeConnection: boolean): string[] {
    const out = ["Audit-Id", this.request.auditId];
    const own = reply.headers;
    if (own === undefined || own["cache-control"] === undefined) out.push("Cache-Control", "no-cache, private");
    if (reply.contentType !== undefined) out.push("Content-Type", reply.contentType);
    if (own !== undefined) {
      for (const name in own) {
        const value = own[name]!;
        if (typeof value === "string") out.push(headerName(name), value);
        else for (const one of value) out.push(headerName(name), one);
      }
    }
    if (this.request.warnings.length > 0) pushWarnings(out, this.request.warnings);
    if (this.#settings.strictTransport !== "") out.push("Strict-Transport-Security", this.#settings.strictTransport);
    if (closeConnection) out.push("Connection", "close");
    return out;
  }

  #bytes(reply: Reply, headers: string[], bytes: Buffer | undefined): void {
    const length = bytes === undefined ? 0 : bytes.length;
    if (bytes !== undefined && length > wholeMax) {
      this.#pieces(reply, headers, [bytes], length);
      return;
    }
    const none = reply.code === 204 || reply.code === 304;
    this.#wire.whole(
      reply.code,
      headers,
      none || this.request.method === "HEAD" ? undefined : bytes,
      none ? -1 : length,
    );
    this.#handedOver();
  }

  #pieces(reply: Reply, headers: string[], buffers: Iterable<Buffer> & Pick<Pieces, "runs">, length: number): void {
    const gzip = this.#wantsGzip(reply, length);
    if (gzip) headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
    const wire = this.#wire;
    if (this.request.method === "HEAD") {
      wire.whole(reply.code, headers, undefined, gzip ? -1 : length);
      this.finish();
      return;
    }
    if (length <= wholeMax) {
      const all = [...buffers];
      wire.whole(reply.code, headers, all.length === 1 ? all[0] : Buffer.concat(all, length), length);
      this.#handedOver();
      return;
    }
    wire.body.on("error", ignore);
    wire.head(reply.code, headers, gzip ? -1 : length);
    const written = gzip ? this.#writeCompressed(buffers) : this.#writePieces(buffers);
    void written.then((complete) => {
      if (complete) wire.end();
      else wire.destroy();
      this.#handedOver();
    });
  }

  /** False when the peer went away or stalled. */
  async #writePieces(buffers: Iterable<Buffer>): Promise<boolean> {
    const wire = this.#wire;
    for (const piece of piecesOf(buffers)) {
      if (wire.gone) return false;
      if (wire.body.write(piece)) await nextTurn();
      else if (!(await this.#drained())) return false;
    }
    return !wire.gone;
  }

  async #writeCompressed(buffers: Iterable<Buffer> & Pick<Pieces, "runs">): Promise<boolean> {
    const wire = this.#wire;
    const runs = buffers.runs === undefined ? singleRuns(buffers) : buffers.runs();
    for await (const piece of this.#settings.gzip.compress(runs, pieceLength)) {
      if (wire.gone) return false;
      if (wire.body.write(piece)) await nextTurn();
      else if (!(await this.#drained())) return false;
    }
    return !wire.gone;
  }

  /** Waits until the peer caught up. False when it went away or took nothing for too long. */
  #drained(): Promise<boolean> {
    const { body } = this.#wire;
    return new Promise((resolve) => {
      const settle = (caughtUp: boolean): void => {
        body.off("drain", drain);
        body.off("close", close);
        cancel();
        resolve(caughtUp);
      };
      const drain = (): void => settle(true);
      const close = (): void => settle(false);
      const cancel = this.#settings.clock.after(this.#settings.stallMs, close);
      body.on("drain", drain);
      body.on("close", close);
    });
  }

  #wantsGzip(reply: Reply, length: number): boolean {
    return (
      length > compressAbove &&
      reply.compressible === true &&
      this.#settings.compress &&
      acceptsGzip(this.request.headers["accept-encoding"])
    );
  }

  #stream(reply: Reply, headers: string[]): void {
    const wire = this.#wire;
    if (this.request.method === "HEAD") {
      wire.whole(reply.code, headers, undefined, -1);
      reply.stream!.open(closedSink());
      this.finish();
      return;
    }
    wire.body.on("error", ignore);
    wire.head(reply.code, headers, -1);
    const sink = wire.sink();
    this.#sink = sink;
    const end = sink.end.bind(sink);
    sink.end = () => {
      if (this.#sink === undefined) return;
      this.#sink = undefined;
      sink.onClose = undefined;
      sink.onDrain = undefined;
      end();
      this.#handedOver();
    };
    reply.stream!.open(sink);
  }

  /** The last byte is queued. What is queued may never leave: do not keep it for ever. */
  #handedOver(): void {
    this.finish();
    const wire = this.#wire;
    if (wire.blocked) wire.onTaken(this.#settings.clock.after(this.#settings.stallMs, () => wire.destroy()));
  }
}

export const clientGone = new Error("the client closed the connection");

function ignore(): void {}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function totalLength(buffers: readonly Buffer[]): number {
  let length = 0;
  for (const buffer of buffers) length += buffer.length;
  return length;
}

/** The same bytes in writes of about 64 KiB: small buffers joined, long ones cut. */
export function* piecesOf(buffers: Iterable<Buffer>): Generator<Buffer, void, undefined> {
  let small: Buffer[] = [];
  let joined = 0;
  for (const buffer of buffers) {
    if (joined + buffer.length > pieceLength) {
      if (joined > 0) yield small.length === 1 ? small[0]! : Buffer.concat(small, joined);
      small = [];
      joined = 0;
    }
    if (buffer.length > pieceLength) {
      for (let at = 0; at < buffer.length; at += pieceLength) yield buffer.subarray(at, at + pieceLength);
    } else {
      small.push(buffer);
      joined += buffer.length;
    }
  }
  if (joined > 0) yield small.length === 1 ? small[0]! : Buffer.concat(small, joined);
}

/** Bytes that will not come again. */
function* singleRuns(buffers: Iterable<Buffer>): Generator<Run, void, undefined> {
  for (const piece of piecesOf(buffers)) yield { key: undefined, mark: [], bytes: () => piece };
}

/** Upstream: only the plain token counts, a quality makes it unknown. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined || !header.includes("gzip")) return false;
  return header === "gzip" || header.split(",").some((part) => part.trim() === "gzip");
}

/** Header names are kept in lower case; on HTTP/1.1 they read `X-Like-This`. The set of names is the code's own. */
const headerNames = new Map<string, string>();

function headerName(name: string): string {
  let written = headerNames.get(name);
  if (written === undefined) {
    written = name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
    headerNames.set(name, written);
  }
  return written;
}

/** Source: upstream's warning recorder: all texts up to 4096 characters, beyond that each cut to 256. */
function pushWarnings(out: string[], warnings: readonly string[]): void {
  const texts = [...new Set(warnings)];
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  let written = 0;
  for (const text of texts) {
    const kept = total > 4096 && text.length > 256 ? Array.from(text).slice(0, 256).join("") : text;
    written += kept.length;
    if (total > 4096 && written > 4096) return;
    out.push("Warning", `299 - "${quotedText(kept)}"`);
  }
}

/** Inside of a quoted string: escapes, no control characters, UTF-8 bytes as the header's Latin-1. */
function quotedText(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&").replace(/[\0-\x1f\x7f]/g, " ");
  return /[^\x20-\x7e]/.test(escaped) ? Buffer.from(escaped, "utf8").toString("latin1") : escaped;
}

/** For a stream whose client left before it began. */
function closedSink(): StreamSink {
  const sink: StreamSink = { write: () => false, blocked: true, onDrain: undefined, onClose: undefined, end: ignore };
  queueMicrotask(() => {
    const onClose = sink.onClose;
    sink.onClose = undefined;
    onClose?.();
  });
  return sink;
}

/** HTTP/1.1 over node's own response object. */
export class Http1Wire implements Wire {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #request: IncomingRequest;
  readonly #clock: Clock;
  /** The client is still sending a long body, and must see the reply before the connection closes. */
  #lingers = false;
  /** The socket that got the whole reply, past the response object. */
  #writtenTo: Socket | undefined;

  constructor(message: IncomingMessage, response: ServerResponse, request: IncomingRequest, clock: Clock) {
    this.#message = message;
    this.#response = response;
    this.#request = request;
    this.#clock = clock;
  }

  get body(): Writable {
    // A response is a Writable in all but its declared class.
    return this.#response as unknown as Writable;
  }

  get gone(): boolean {
    return this.#writtenTo !== undefined || this.#response.destroyed || this.#response.writableEnded;
  }

  head(code: number, headers: string[], length: number): void {
    this.#writeHead(code, headers, length);
    this.#response.flushHeaders();
  }

  whole(code: number, headers: string[], bytes: Buffer | undefined, length: number): void {
    const empty = bytes === undefined || bytes.length === 0;
    if (!empty && bytes.length <= recordMax && this.#isPlain(headers)) {
      this.#writeRecord(code, headers, bytes);
      return;
    }
    this.#writeHead(code, headers, length);
    const response = this.#response;
    if (this.#lingers) {
      if (empty) response.flushHeaders();
      else response.write(bytes);
      this.end();
    } else if (empty) response.end();
    else response.end(bytes);
  }

  /** The connection stays, it is this reply's turn, and nothing of the request is left to read. */
  #isPlain(headers: readonly string[]): boolean {
    const response = this.#response;
    return (
      response.socket?.writableNeedDrain === false &&
      response.shouldKeepAlive &&
      this.#message.httpVersionMinor === 1 &&
      !this.#request.bodyPending &&
      !headers.includes("Connection")
    );
  }

  /**
   * Head and body as one Buffer, straight to the socket: a fifth less work than through the response object, half of
   * it the collector's. The response only hears that it is finished, and frees the connection for the next request.
   */
  #writeRecord(code: number, headers: readonly string[], bytes: Buffer): void {
    let head = `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n`;
    for (let i = 0; i < headers.length; i += 2) {
      const value = headers[i + 1]!;
      if (unsafeValue.test(value)) throw new TypeError(`the header ${headers[i]} has a value that cannot be sent`);
      head += `${headers[i]}: ${value}\r\n`;
    }
    head += `Content-Length: ${bytes.length}\r\nDate: ${dateHeader(this.#clock.now())}\r\n\r\n`;
    const record = Buffer.allocUnsafe(head.length + bytes.length);
    record.write(head, 0, head.length, "latin1");
    record.set(bytes, head.length);
    const socket = this.#response.socket!;
    this.#writtenTo = socket;
    socket.write(record);
    this.#response.emit("finish");
  }

  #writeHead(code: number, headers: string[], length: number): void {
    const response = this.#response;
    if (length >= 0) headers.push("Content-Length", String(length));
    if (this.#request.bodyPending && !isShort(this.#message)) {
      this.#lingers = true;
      if (!headers.includes("Connection")) headers.push("Connection", "close");
    } else if (response.shouldKeepAlive && this.#message.httpVersionMinor === 1) {
      // HTTP/1.1 keeps connections without being told so.
      response.removeHeader("connection");
    }
    response.writeHead(code, headers);
  }

  sink(): StreamSink & { lost(): void } {
    return new Http1Sink(this.#response);
  }

  end(): void {
    if (this.#lingers) this.#linger();
    else this.#response.end();
  }

  /**
   * Takes the rest of the body, for a while and to a bound, before the connection closes: closing with unread bytes
   * resets it, and the client would lose the reply.
   */
  #linger(): void {
    const message = this.#message;
    let left = lingerBytes;
    const settle = (): void => {
      message.off("data", discard);
      message.off("end", settle);
      message.off("close", settle);
      cancel();
      this.#response.end();
    };
    const discard = (piece: Buffer): void => {
      left -= piece.length;
      if (left < 0) settle();
    };
    const cancel = this.#clock.after(lingerMs, settle);
    message.on("data", discard);
    message.on("end", settle);
    message.on("close", settle);
  }

  destroy(): void {
    (this.#writtenTo ?? this.#response).destroy();
  }

  get blocked(): boolean {
    if (this.#writtenTo !== undefined) return this.#writtenTo.writableNeedDrain;
    const { destroyed, socket } = this.#response;
    // Without a socket it waits for an earlier reply of the same connection.
    return !destroyed && (socket === null || socket.writableNeedDrain);
  }

  onTaken(callback: () => void): void {
    const socket = this.#writtenTo;
    if (socket === undefined) {
      this.#response.once("close", callback);
      return;
    }
    const settle = (): void => {
      socket.off("drain", settle);
      socket.off("close", settle);
      callback();
    };
    socket.on("drain", settle);
    socket.on("close", settle);
  }
}

/** Head and body up to this length are put together; one TLS record holds 16 KiB. */
const recordMax = 15 * 1024;
/** What would end a header line, or is no Latin-1. */
const unsafeValue = /[^\t\x20-\x7e\x80-\xff]/;
const lingerBytes = 16 * 1024 * 1024;
const lingerMs = 5_000;
/** The rest of a body up to this length is read and forgotten, and the connection kept. */
const shortBody = 256 * 1024;

let dateSecond = -1;
let dateText = "";

/** The `Date` of a reply, made once a second. */
function dateHeader(nowMs: number): string {
  const second = Math.floor(nowMs / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

function isShort(message: IncomingMessage): boolean {
  const { headers } = message;
  if (headers["transfer-encoding"] !== undefined || headers["expect"] !== undefined) return false;
  return Number(headers["content-length"] ?? 0) <= shortBody;
}

/**
 * Chunk frames by payload, so that a batch for a thousand watchers is framed once. The last one is kept at hand, since
 * a batch goes to one watcher after the other.
 */
const frames = new WeakMap<Buffer, Buffer>();
let lastPayload: Buffer | undefined;
let lastFrame: Buffer | undefined;

/** `bytes` as one chunk of the chunked transfer coding (RFC 9112 section 7.1). */
export function chunkFrame(bytes: Buffer): Buffer {
  if (bytes === lastPayload) return lastFrame!;
  let frame = frames.get(bytes);
  if (frame === undefined) {
    const size = `${bytes.length.toString(16)}\r\n`;
    frame = Buffer.allocUnsafe(size.length + bytes.length + 2);
    frame.write(size, 0, "latin1");
    bytes.copy(frame, size.length);
    frame[frame.length - 2] = 0x0d;
    frame[frame.length - 1] = 0x0a;
    frames.set(bytes, frame);
  }
  lastPayload = bytes;
  lastFrame = frame;
  return frame;
}

/** Lets go of the last frame; called when no stream is open. */
export function forgetFrames(): void {
  lastPayload = undefined;
  lastFrame = undefined;
}

/** Writes frames past the response object, straight to its socket. The response object writes head and last chunk. */
class Http1Sink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #response: ServerResponse;
  /** The response itself while an earlier one of the same connection is not through, or when nothing is chunked. */
  readonly #target: Writable;
  readonly #framed: boolean;
  readonly #drained = (): void => this.onDrain?.();

  constructor(response: ServerResponse) {
    this.#response = response;
    const { socket } = response;
    this.#framed = socket !== null && response.chunkedEncoding;
    this.#target = this.#framed ? socket! : (response as unknown as Writable); // see `Http1Wire.body`
    this.#target.on("drain", this.#drained);
  }

  write(bytes: Buffer): boolean {
    const target = this.#target;
    if (bytes.length === 0 || target.destroyed || this.#response.writableEnded) return !this.blocked;
    return target.write(this.#framed ? chunkFrame(bytes) : bytes);
  }

  get blocked(): boolean {
    return this.#target.destroyed || this.#target.writableNeedDrain;
  }

  lost(): void {
    this.#target.off("drain", this.#drained);
    const onClose = this.onClose;
    this.onClose = undefined;
    onClose?.();
  }

  end(): void {
    this.#target.off("drain", this.#drained);
    if (!this.#response.destroyed) this.#response.end();
  }
}

/** Names and values in turn; names in any case. */
type RawHeaders = string[] & { [sensitiveHeaders]: readonly string[] };

/** Different in every answer: kept out of the header table of the connection, where it would push out the others. */
const neverIndexed = ["audit-id"];

/** HTTP/2 over node's stream interface (its compatibility layer costs as much again). */
export class Http2Wire implements Wire {
  readonly #stream: ServerHttp2Stream;
  readonly #request: IncomingRequest;

  constructor(stream: ServerHttp2Stream, request: IncomingRequest) {
    this.#stream = stream;
    this.#request = request;
  }

  get body(): Writable {
    return this.#stream;
  }

  get gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  head(code: number, headers: readonly string[], length: number): void {
    this.#respond(code, headers, length, false);
  }

  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    const empty = bytes === undefined || bytes.length === 0;
    this.#respond(code, headers, length, empty);
    if (!empty) this.#stream.end(bytes);
    this.#stopRequest();
  }

  #respond(code: number, headers: readonly string[], length: number, end: boolean): void {
    const out = [":status", String(code), ...headers] as RawHeaders;
    if (length >= 0) out.push("Content-Length", String(length));
    out[sensitiveHeaders] = neverIndexed;
    this.#stream.respond(out, end ? { endStream: true } : undefined);
  }

  sink(): StreamSink & { lost(): void } {
    return new Http2Sink(this.#stream);
  }

  end(): void {
    this.#stream.end();
    this.#stopRequest();
  }

  /** A client still sending a body that nobody wants is told to stop (RFC 9113 section 8.1). */
  #stopRequest(): void {
    if (this.#request.bodyPending) this.#stream.close();
  }

  destroy(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  get blocked(): boolean {
    return !this.#stream.destroyed && this.#stream.writableNeedDrain;
  }

  onTaken(callback: () => void): void {
    this.#stream.once("close", callback);
  }
}

class Http2Sink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("drain", () => this.onDrain?.());
  }

  write(bytes: Buffer): boolean {
    const stream = this.#stream;
    if (bytes.length === 0 || stream.destroyed || stream.writableEnded) return !this.blocked;
    return stream.write(bytes);
  }

  get blocked(): boolean {
    return this.#stream.destroyed || this.#stream.writableNeedDrain;
  }

  lost(): void {
    const onClose = this.onClose;
    this.onClose = undefined;
    onClose?.();
  }

  end(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }
}
