/**
 * The client side of a SPDY/3.1 connection to a kubelet: opens streams, and passes data in both directions as it comes.
 * Headers that the kubelet sends have no use here, so nothing is decompressed; those of this side are stored without
 * compression. Source: the draft of SPDY/3.1.
 */
import { FrameReader } from "#std/frame-reader.ts";

const control = 0x8003;
const synStream = 1;
const synReply = 2;
const rstStream = 3;
const ping = 6;
const goAway = 7;
const finished = 1;
/** The maximum bytes of a control frame whose content is read; others are skipped. */
const controlBytesMax = 64;

interface SpdyHandler {
  /** Takes data of a stream. */
  data(stream: number, bytes: Buffer): void;
  /** Called when the kubelet ends or refuses a stream. */
  ended(stream: number): void;
  /** Writes bytes to the kubelet. */
  send(bytes: Buffer): void;
  /** Writes an answer to a ping of the kubelet; it is lost when the kubelet does not read. */
  answer(bytes: Buffer): void;
  /** Called when the kubelet breaks the protocol, or will send no more. */
  broken(problem: string): void;
}

export class SpdyClient {
  readonly #handler: SpdyHandler;
  #nextStream = 1;
  #hasCompressed = false;
  readonly #frames = new FrameReader({
    head: (bytes) => this.#frame(bytes),
    payload: (bytes, isLast) => this.#payload(bytes, isLast),
  });
  /** The stream of the current frame; 0 for none, so that the frame is skipped. */
  #stream = 0;
  /** Whether the stream ends with the current frame. */
  #isLast = false;

  constructor(handler: SpdyHandler) {
    this.#handler = handler;
  }

  /** Opens a stream and returns its number. Names of headers are in lower case. */
  open(headers: Readonly<Record<string, string>>): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const block = this.#stored(headerBlock(headers));
    this.#handler.send(
      Buffer.concat([controlHead(synStream, 10 + block.length), uint32(stream), Buffer.alloc(6), block]),
    );
    return stream;
  }

  write(stream: number, bytes: Buffer): void {
    this.#handler.send(Buffer.concat([uint32(stream), uint32(bytes.length), bytes]));
  }

  end(stream: number): void {
    this.#handler.send(Buffer.concat([uint32(stream), Buffer.from([finished, 0, 0, 0])]));
  }

  take(piece: Buffer): void {
    this.#frames.take(piece);
  }

  #payload(bytes: Buffer, isLast: boolean): void {
    if (this.#stream !== 0) this.#handler.data(this.#stream, bytes);
    if (isLast && this.#isLast) this.#handler.ended(this.#stream);
  }

  /** Reads the head of a frame, or a short control frame. Returns the number of used bytes; 0 when more must come. */
  #frame(bytes: Buffer): number {
    if (bytes.length < 8) return 0;
    const length = bytes.readUIntBE(5, 3);
    const flags = bytes[4]!;
    if ((bytes[0]! & 0x80) === 0) {
      this.#stream = bytes.readUInt32BE(0);
      this.#isLast = (flags & finished) !== 0;
      this.#frames.expect(length);
      if (length === 0 && this.#isLast) this.#handler.ended(this.#stream);
      return 8;
    }
    const type = bytes.readUInt16BE(2);
    if (bytes.readUInt16BE(0) !== control) return this.#fail(bytes, "the kubelet speaks another version of SPDY");
    if (type === synStream) return this.#fail(bytes, "the kubelet opened a stream");
    const isRead = type === synReply || type === rstStream || type === ping || type === goAway;
    if (!isRead || length > controlBytesMax) {
      this.#stream = 0;
      this.#isLast = false;
      this.#frames.expect(length);
      return 8;
    }
    if (bytes.length < 8 + length) return 0;
    if (length < 4) return this.#fail(bytes, "the kubelet broke the protocol");
    const id = bytes.readUInt32BE(8);
    if (type === ping && id % 2 === 0) this.#handler.answer(Buffer.from(bytes.subarray(0, 8 + length)));
    else if (type === rstStream || (type === synReply && (flags & finished) !== 0)) this.#handler.ended(id);
    return 8 + length;
  }

  #fail(bytes: Buffer, problem: string): number {
    this.#frames.end();
    this.#handler.broken(problem);
    return bytes.length;
  }

  /**
   * Returns a block of the compressed stream (RFC 1950, 1951) with stored bytes. The empty block behind them makes the
   * decoder of Go return them.
   */
  #stored(bytes: Buffer): Buffer {
    const head = Buffer.alloc(5);
    head.writeUInt16LE(bytes.length, 1);
    head.writeUInt16LE(bytes.length ^ 0xffff, 3);
    const parts = [head, bytes, Buffer.from([0, 0, 0, 0xff, 0xff])];
    if (!this.#hasCompressed) parts.unshift(Buffer.from([0x78, 0x01]));
    this.#hasCompressed = true;
    return Buffer.concat(parts);
  }
}

function controlHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(control);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(length, 4);
  return head;
}

function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const texts = entries.flat().map((text) => Buffer.from(text));
  return Buffer.concat([uint32(entries.length), ...texts.flatMap((text) => [uint32(text.length), text])]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
