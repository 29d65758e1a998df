/**
 * Replies on an HTTP/1.1 connection.
 *
 * Hot path. A small reply is one Buffer, head and body together, in one TLS record. A watch batch is one Buffer shared by
 * all watchers: its chunk frame is made once and written to each socket as it is.
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import type { StreamSink } from "../api-request.ts";
import type { Wire } from "../wire.ts";
import { type Afterwards, type Http1Connection, shortBody } from "./connection.ts";
import { chunked, type RequestHead } from "./request-head.ts";

// Not imported: that would also read every other name the module has, and load a whole HTTP client (24 ms, 15 MB).
const { STATUS_CODES } = process.getBuiltinModule("node:http");

/** Head and body up to this length are put together; one TLS record holds 16 KiB. */
const recordMax = 15 * 1024;
/** What would end a header line, or is no Latin-1. */
const unsafeValue = /[^\t\x20-\x7e\x80-\xff]/;
const lastChunk = "0\r\n\r\n";

/** What the wire asks about the request it answers. */
interface Asked {
  readonly bodyPending: boolean;
}

export class Http1Wire implements Wire {
  readonly #connection: Http1Connection;
  readonly #head: RequestHead;
  readonly #request: Asked;
  readonly #clock: Clock;
  #ended = false;
  /** Whether the body goes out in chunks. */
  #framed = false;
  #afterwards: Afterwards = "keep";

  constructor(connection: Http1Connection, head: RequestHead, request: Asked, clock: Clock) {
    this.#connection = connection;
    this.#head = head;
    this.#request = request;
    this.#clock = clock;
  }

  get channel(): TLSSocket {
    return this.#connection.socket;
  }

  get gone(): boolean {
    return this.#ended || !this.channel.writable;
  }

  head(code: number, headers: readonly string[], length: number): void {
    const socket = this.#connection.written();
    const text = this.#begin(code, headers, length, length < 0);
    // The body's first bytes, if they come in this turn, go along.
    socket.cork();
    socket.write(text, "latin1");
    process.nextTick(uncork, socket);
  }

  write(bytes: Buffer): boolean {
    return this.channel.write(this.#framed ? chunkFrame(bytes) : bytes);
  }

  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    const text = this.#begin(code, headers, length, false);
    const connection = this.#connection;
    if (bytes === undefined || bytes.length === 0) {
      connection.written().write(text, "latin1");
    } else if (bytes.length <= recordMax) {
      const record = Buffer.allocUnsafe(text.length + bytes.length);
      record.write(text, 0, text.length, "latin1");
      record.set(bytes, text.length);
      connection.sendWhole(record, this.#afterwards);
    } else {
      const socket = connection.written();
      socket.cork();
      socket.write(text, "latin1");
      socket.write(bytes);
      socket.uncork();
    }
    this.#end();
  }

  sink(): StreamSink & { lost(): void } {
    return new Http1Sink(this);
  }

  end(): void {
    if (this.#ended) return;
    if (this.#framed) this.channel.write(lastChunk, "latin1");
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    this.#connection.replied(this.#afterwards);
  }

  destroy(): void {
    this.channel.destroy();
  }

  get blocked(): boolean {
    return this.channel.writableNeedDrain;
  }

  onTaken(callback: () => void): void {
    const socket = this.channel;
    const settle = (): void => {
      socket.off("drain", settle);
      socket.off("close", settle);
      callback();
    };
    socket.on("drain", settle);
    socket.on("close", settle);
  }

  /** Everything up to the body. Decides what becomes of the connection. */
  #begin(code: number, headers: readonly string[], length: number, hasBody: boolean): string {
    let text = `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n`;
    let closes = !this.#head.keepAlive;
    for (let i = 0; i < headers.length; i += 2) {
      const value = headers[i + 1]!;
      if (unsafeValue.test(value)) throw new TypeError(`the header ${headers[i]} has a value that cannot be sent`);
      // Written below.
      if (headers[i] === "Connection") closes = true;
      else text += `${headers[i]}: ${value}\r\n`;
    }
    if (length >= 0) text += `Content-Length: ${length}\r\n`;
    else if (hasBody && this.#head.minor === 0) closes = true;
    else if (hasBody) {
      this.#framed = true;
      text += "Transfer-Encoding: chunked\r\n";
    }
    const lingers = this.#request.bodyPending && (closes || !this.#isShort());
    if (lingers) this.#afterwards = "linger";
    else if (closes) this.#afterwards = "close";
    text += `Date: ${dateHeader(this.#clock.now())}\r\n`;
    if (this.#afterwards !== "keep") text += "Connection: close\r\n";
    else if (this.#head.minor === 0) text += "Connection: keep-alive\r\n";
    this.#connection.replyBegins();
    return `${text}\r\n`;
  }

  /** Whether the rest of the request's body is not worth a connection. */
  #isShort(): boolean {
    const { bodyLength, expectsContinue } = this.#head;
    return bodyLength !== chunked && bodyLength <= shortBody && !expectsContinue;
  }
}

function uncork(socket: TLSSocket): void {
  socket.uncork();
}

class Http1Sink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #wire: Http1Wire;
  readonly #socket: TLSSocket;
  readonly #drained = (): void => this.onDrain?.();

  constructor(wire: Http1Wire) {
    this.#wire = wire;
    this.#socket = wire.channel;
    this.#socket.on("drain", this.#drained);
  }

  write(bytes: Buffer): boolean {
    if (bytes.length === 0 || this.#wire.gone) return !this.blocked;
    return this.#wire.write(bytes);
  }

  get blocked(): boolean {
    return !this.#socket.writable || this.#socket.writableNeedDrain;
  }

  lost(): void {
    this.#socket.off("drain", this.#drained);
    const onClose = this.onClose;
    this.onClose = undefined;
    onClose?.();
  }

  end(): void {
    this.#socket.off("drain", this.#drained);
    if (!this.#wire.gone) this.#wire.end();
  }
}

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
