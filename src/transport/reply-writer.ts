/**
 * Writes a `Reply` with either protocol: common headers, plain bytes, long bodies in pieces, gzip, streams.
 * `http1-response-writer.ts` and `http2-response-writer.ts` turn it into bytes of a connection.
 */
import type { Clock } from "#std/clock.ts";
import type { LinkedList, Node } from "#std/linked-list.ts";
import { type Reply, slowMs, type StreamSink, type Tunnel } from "#http/api-request.ts";
import { type Chunk, type Chunks, type BytePieces, pieceLength, wholeBytesMax } from "#std/byte-pieces.ts";
import { tellClosed } from "./channel-sink.ts";
import type { Gzip } from "./gzip.ts";
import type { HeaderNames } from "./header-names.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { joinChunks, type ChunkCache } from "#http/chunk-cache.ts";
import { closedSink } from "#http/closed-sink.ts";
import type { ResponseWriter } from "./response-writer.ts";

export interface ReplySettings {
  readonly clock: Clock;
  /** The value of `Strict-Transport-Security`; empty sends none. */
  readonly strictTransport: string;
  readonly headerNames: HeaderNames;
  /** Whether long replies may be compressed (feature gate `APIResponseCompression`). */
  readonly compress: boolean;
  readonly gzip: Gzip;
  /** Uncompressed chunks of long bodies. */
  readonly joined: ChunkCache<Buffer>;
  /** A peer that reads nothing for this many milliseconds, while a reply waits, is disconnected. */
  readonly stallMs: number;
}

/** The length in bytes above which a compressible reply is compressed; upstream's threshold. */
const compressAbove = 128 * 1024;

/**
 * One exchange from the request to the last byte. `done` is called once, when no more will be written: the reply was
 * handed to the connection, or the connection is closed.
 */
export class Exchange {
  readonly request: IncomingRequest;
  readonly #writer: ResponseWriter;
  readonly #settings: ReplySettings;
  /** The node in the list of the connection's exchanges. */
  readonly #node: Node<Exchange>;
  readonly #siblings: LinkedList<Exchange>;
  readonly #done: () => void;
  #sink: StreamSink | undefined;
  #reply: Reply | undefined;
  #isDone = false;
  #replied = false;

  constructor(
    request: IncomingRequest,
    writer: ResponseWriter,
    settings: ReplySettings,
    siblings: LinkedList<Exchange>,
    done: () => void,
  ) {
    this.request = request;
    this.#writer = writer;
    this.#settings = settings;
    this.#siblings = siblings;
    this.#node = siblings.add(this);
    this.#done = done;
  }

  /** Sends a reply. A second reply, or one for a peer that has left, is dropped. */
  send(reply: Reply, closeConnection: boolean): void {
    if (this.#replied) return;
    this.#replied = true;
    this.#reply = reply;
    if (this.#writer.gone) {
      reply.stream?.open(closedSink());
      reply.tunnel?.connection.destroy();
      this.finish();
      return;
    }
    const headers = this.#headers(reply, closeConnection);
    const { bytes, pieces, chunks, stream, tunnel } = reply;
    if (tunnel !== undefined) this.#tunnel(tunnel);
    else if (stream !== undefined) this.#stream(reply, headers);
    else if (chunks !== undefined) void this.#chunks(reply, headers, chunks);
    else if (pieces !== undefined) this.#pieces(reply, headers, pieces, pieces.length);
    else if (bytes === undefined || Buffer.isBuffer(bytes)) this.#bytes(reply, headers, bytes);
    else this.#pieces(reply, headers, bytes, totalLength(bytes));
  }

  /** Called when the connection closed, or the stream was reset. */
  lost(): void {
    this.request.abort(clientGone);
    const sink = this.#sink;
    this.#sink = undefined;
    if (sink !== undefined) tellClosed(sink);
    this.finish();
  }

  /** Whether the reply is a session with another server. */
  get isSession(): boolean {
    return this.#reply?.tunnel !== undefined || this.#reply?.stream?.isSession === true;
  }

  /** Ends a stream at shutdown: its owner is notified. The client gets a complete reply, unless it is a session. */
  endStream(): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    sink.onDrain = undefined;
    tellClosed(sink);
    if (this.isSession && sink.abort !== undefined) sink.abort();
    else sink.end();
  }

  /** Gives up the exchange after an internal failure. */
  destroy(): void {
    this.#writer.destroy();
    this.lost();
  }

  finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.request.end();
    this.#reply?.done?.();
    this.#siblings.remove(this.#node);
    this.#done();
  }

  /** Returns the headers; names and values alternate. The writer adds Content-Length, Date and connection headers. */
  #headers(reply: Reply, closeConnection: boolean): string[] {
    const out = ["Audit-Id", this.request.auditId];
    const own = reply.headers;
    if (own === undefined || own["cache-control"] === undefined) out.push("Cache-Control", "no-cache, private");
    if (reply.contentType !== undefined) out.push("Content-Type", reply.contentType);
    if (own !== undefined) {
      for (const name in own) {
        const value = own[name]!;
        const written = this.#settings.headerNames.of(name);
        if (typeof value === "string") out.push(written, value);
        else for (const one of value) out.push(written, one);
      }
    }
    if (this.request.warnings.length > 0) pushWarnings(out, this.request.warnings);
    if (this.#settings.strictTransport !== "") out.push("Strict-Transport-Security", this.#settings.strictTransport);
    if (closeConnection) out.push("Connection", "close");
    return out;
  }

  #bytes(reply: Reply, headers: string[], bytes: Buffer | undefined): void {
    const length = bytes === undefined ? 0 : bytes.length;
    if (bytes !== undefined && length > compressAbove) {
      this.#pieces(reply, headers, [bytes], length);
      return;
    }
    const none = reply.code === 204 || reply.code === 304;
    this.#writer.whole(
      reply.code,
      headers,
      none || this.request.method === "HEAD" ? undefined : bytes,
      none ? -1 : length,
    );
    this.#handedOver();
  }

  #pieces(
    reply: Reply,
    headers: string[],
    buffers: Iterable<Buffer> & Pick<BytePieces, "chunks">,
    length: number,
  ): void {
    const gzip = this.#wantsGzip(reply, length);
    if (gzip) headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
    const writer = this.#writer;
    if (this.request.method === "HEAD") {
      writer.whole(reply.code, headers, undefined, gzip ? -1 : length);
      this.finish();
      return;
    }
    if (!gzip && length <= wholeBytesMax) {
      const all = [...buffers];
      writer.whole(reply.code, headers, all.length === 1 ? all[0] : Buffer.concat(all, length), length);
      this.#handedOver();
      return;
    }
    writer.head(reply.code, headers, gzip ? -1 : length);
    const written = gzip ? this.#writeCompressed(buffers) : this.#writePieces(buffers);
    void written.then((complete) => {
      if (complete) writer.end();
      else writer.destroy();
      this.#handedOver();
    });
  }

  /** Sends chunks: short replies as a whole, like other replies; long ones without a content length. */
  async #chunks(reply: Reply, headers: string[], chunks: Chunks): Promise<void> {
    const writer = this.#writer;
    const iterator = chunks[Symbol.asyncIterator]();
    const first: Buffer[] = [];
    let hasHead = false;
    try {
      const shortMax = this.#wantsGzip(reply, wholeBytesMax) ? compressAbove : wholeBytesMax;
      let length = 0;
      let next = await iterator.next();
      for (; next.done !== true && length <= shortMax; next = await iterator.next()) {
        first.push(next.value);
        length += next.value.length;
      }
      if (writer.gone) return this.finish();
      if (next.done === true) return this.#pieces(reply, headers, first, length);
      const nextPiece = next.value;
      const rest = async function* (): AsyncGenerator<Buffer, void, undefined> {
        yield* first;
        yield nextPiece;
        yield* { [Symbol.asyncIterator]: () => iterator };
      };
      const gzip = this.#wantsGzip(reply, length);
      if (gzip) headers.push("Content-Encoding", "gzip", "Vary", "Accept-Encoding");
      if (this.request.method === "HEAD") {
        writer.whole(reply.code, headers, undefined, -1);
        return this.finish();
      }
      hasHead = true;
      writer.head(reply.code, headers, -1);
      const complete = await this.#writeAll(
        gzip ? this.#settings.gzip.compress(chunksOf(rest()), pieceLength) : rest(),
      );
      if (complete) writer.end();
      else writer.destroy();
    } catch {
      // An item can no longer be read: the client sees that the list is incomplete.
      writer.destroy();
    } finally {
      void iterator.return?.();
      if (hasHead) this.#handedOver();
    }
  }

  /** Returns false when the peer has left or stalled. */
  async #writePieces(buffers: Iterable<Buffer> & Pick<BytePieces, "chunks">): Promise<boolean> {
    const writer = this.#writer;
    const joined = buffers.chunks === undefined ? buffers : joinChunks(buffers.chunks(), this.#settings.joined);
    for (const piece of piecesOf(joined)) {
      if (writer.gone) return false;
      if (writer.write(piece)) await nextTurn();
      else if (!(await this.#untilDrained())) return false;
    }
    return !writer.gone;
  }

  #writeCompressed(buffers: Iterable<Buffer> & Pick<BytePieces, "chunks">): Promise<boolean> {
    const chunks = buffers.chunks === undefined ? singleChunks(buffers) : buffers.chunks();
    return this.#writeAll(this.#settings.gzip.compress(chunks, pieceLength));
  }

  async #writeAll(pieces: AsyncIterable<Buffer>): Promise<boolean> {
    const writer = this.#writer;
    for await (const piece of pieces) {
      if (writer.gone) return false;
      if (writer.write(piece)) await nextTurn();
      else if (!(await this.#untilDrained())) return false;
    }
    return !writer.gone;
  }

  /**
   * Waits until the peer has caught up. Returns false when the peer closed the connection or read nothing for too long.
   */
  #untilDrained(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (caughtUp: boolean): void => {
        cancelDrain();
        cancelStall();
        cancelSeats();
        resolve(caughtUp);
      };
      const { clock, stallMs } = this.#settings;
      const cancelDrain = this.#writer.whenDrained(settle);
      const cancelStall = clock.after(stallMs, () => settle(false));
      // A request that waits for its client does not use the event loop.
      const cancelSeats = clock.after(slowMs, () => this.request.seats?.end());
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
    const writer = this.#writer;
    if (this.request.method === "HEAD") {
      writer.whole(reply.code, headers, undefined, -1);
      reply.stream!.open(closedSink());
      this.finish();
      return;
    }
    writer.head(reply.code, headers, -1);
    const sink = writer.sink();
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
    sink.abort = () => {
      if (this.#sink === undefined) return;
      this.#sink = undefined;
      sink.onClose = undefined;
      sink.onDrain = undefined;
      writer.destroy();
      this.finish();
    };
    reply.stream!.open(sink);
  }

  /** Connects the client with another connection, until one of the two closes. */
  #tunnel(tunnel: Tunnel): void {
    const writer = this.#writer;
    if (writer.tunnel === undefined) {
      tunnel.connection.destroy();
      throw new Error("the connection cannot change its protocol");
    }
    const end = (): void => writer.destroy();
    this.#sink = { write: () => false, blocked: true, onDrain: undefined, onClose: undefined, end };
    writer.tunnel(tunnel, ["Audit-Id", this.request.auditId]);
  }

  /** Called when the last byte is queued. It may never be sent, so the reply is not referenced any longer. */
  #handedOver(): void {
    this.finish();
    const writer = this.#writer;
    writer.whileUntaken?.(() => this.#settings.clock.after(this.#settings.stallMs, () => writer.destroy()));
  }
}

const clientGone = new Error("the client closed the connection");

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function totalLength(buffers: readonly Buffer[]): number {
  let length = 0;
  for (const buffer of buffers) length += buffer.length;
  return length;
}

/** The length from which a buffer is sent by itself: to join longer ones costs more than to write more often. */
export const longLength = pieceLength / 4;

/** Yields the same bytes in pieces of at most `pieceLength`: small buffers are joined, long ones are cut. */
export function* piecesOf(buffers: Iterable<Buffer>): Generator<Buffer, void, undefined> {
  let small: Buffer[] = [];
  let joined = 0;
  for (const buffer of buffers) {
    if (buffer.length >= longLength || joined + buffer.length > pieceLength) {
      if (joined > 0) yield small.length === 1 ? small[0]! : Buffer.concat(small, joined);
      small = [];
      joined = 0;
    }
    if (buffer.length >= longLength) {
      for (let at = 0; at < buffer.length; at += pieceLength) yield buffer.subarray(at, at + pieceLength);
    } else {
      small.push(buffer);
      joined += buffer.length;
    }
  }
  if (joined > 0) yield small.length === 1 ? small[0]! : Buffer.concat(small, joined);
}

async function* chunksOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Chunk, void, undefined> {
  for await (const piece of pieces) yield { key: undefined, mark: [], bytes: () => piece };
}

/** Yields each buffer as a chunk that is not cached. */
function* singleChunks(buffers: Iterable<Buffer>): Generator<Chunk, void, undefined> {
  for (const piece of piecesOf(buffers)) yield { key: undefined, mark: [], bytes: () => piece };
}

/**
 * Returns whether the client accepts gzip. As upstream, only the plain token counts; a token with a quality is unknown.
 */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined || !header.includes("gzip")) return false;
  return header === "gzip" || header.split(",").some((part) => part.trim() === "gzip");
}

const warningsLengthMax = 4096;
const cutWarningLength = 256;

/**
 * All texts up to 4096 characters. The text that goes beyond that makes each be cut to 256; later ones follow until there
 * are 4096 characters again. Source: the answers of kube-apiserver.
 */
function pushWarnings(out: string[], warnings: readonly string[]): void {
  const shown: string[] = [];
  let isCut = false;
  let written = 0;
  for (const text of new Set(warnings)) {
    if (isCut && written >= warningsLengthMax) break;
    shown.push(text);
    written += isCut ? cutWarning(text).length : text.length;
    if (isCut || written <= warningsLengthMax) continue;
    isCut = true;
    written = shown.reduce((sum, before) => sum + cutWarning(before).length, 0);
  }
  for (const text of shown) out.push("Warning", `299 - "${quotedText(isCut ? cutWarning(text) : text)}"`);
}

const cutWarning = (text: string): string =>
  text.length > cutWarningLength
    ? Array.from(text.slice(0, 2 * cutWarningLength))
        .slice(0, cutWarningLength)
        .join("")
    : text;

/**
 * Returns the inside of a quoted string: with escapes, without control characters, UTF-8 bytes as the header's Latin-1.
 */
function quotedText(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&").replace(/[\0-\x1f\x7f]/g, " ");
  return /[^\x20-\x7e]/.test(escaped) ? Buffer.from(escaped, "utf8").toString("latin1") : escaped;
}
