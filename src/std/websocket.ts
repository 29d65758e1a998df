/** The frames of WebSockets (RFC 6455) at a server: those that it sends, and those of a client, however they are split. */
import { createHash } from "node:crypto";
import { FrameReader } from "./frame-reader.ts";

/** Returns the value of `Sec-WebSocket-Accept`, which proves that the request with this key was understood. */
export const acceptOf = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

export const closedNormally = 1000;
const protocolError = 1002;

const opContinuation = 0;
const opText = 1;
const opBinary = 2;
const opClose = 8;
const opPing = 9;
const opPong = 10;
const controlBytesMax = 125;

/** Returns the head of the only frame of a message. Frames of servers are not masked. */
function frameHead(op: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | op, length]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = 0x80 | op;
  if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}

/** Returns the head of a message of text, which has so many bytes. */
export const textHead = (length: number): Buffer => frameHead(opText, length);

/** Returns a message of one frame. `parts` are its bytes. */
export const binaryFrame = (...parts: readonly Buffer[]): Buffer =>
  Buffer.concat([
    frameHead(
      opBinary,
      parts.reduce((sum, { length }) => sum + length, 0),
    ),
    ...parts,
  ]);

export const closeFrame = (code: number): Buffer => Buffer.from([0x80 | opClose, 2, code >> 8, code & 0xff]);

export const pongFrame = (payload: Buffer): Buffer => Buffer.concat([frameHead(opPong, payload.length), payload]);

interface WebSocketHandler {
  /**
   * Takes the next bytes of a message as they come; `isFirst` says that the message begins with them. Without this
   * function, messages are dropped.
   */
  data?(bytes: Buffer, isFirst: boolean): void;
  ping(payload: Buffer): void;
  /**
   * Called once when the client ends the connection or breaks the protocol. Nothing is read afterwards. `code` is the
   * code of the answer.
   */
  ended(code: number): void;
}

/** Reads the frames of a client. */
export class WebSocketReader {
  readonly #handler: WebSocketHandler;
  readonly #frames = new FrameReader({
    head: (bytes) => this.#head(bytes),
    payload: (bytes) => this.#payload(bytes),
  });
  #mask: Buffer = Buffer.alloc(4);
  /** The number of bytes of the frame that were unmasked. */
  #at = 0;
  #isFirst = false;
  /** Whether the current message has more frames. */
  #isInMessage = false;

  constructor(handler: WebSocketHandler) {
    this.#handler = handler;
  }

  take(piece: Buffer): void {
    this.#frames.take(piece);
  }

  #payload(masked: Buffer): void {
    if (this.#handler.data === undefined) return;
    const bytes = unmasked(masked, this.#mask, this.#at);
    this.#at += bytes.length;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#handler.data(bytes, isFirst);
  }

  /** Reads the head of a frame, or a control frame. Returns the number of used bytes; 0 when more must come first. */
  #head(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    const [first = 0, second = 0] = bytes;
    const op = first & 0x0f;
    const short = second & 0x7f;
    const isFinal = (first & 0x80) !== 0;
    const isControl = op >= opClose;
    // These violate the protocol: reserved bits, unknown opcodes, no mask, a long or fragmented control frame.
    if ((first & 0x70) !== 0 || op > opPong || (op > opBinary && !isControl) || (second & 0x80) === 0)
      return this.#fail(bytes);
    if (isControl ? !isFinal || short > controlBytesMax : this.#isOutOfOrder(op)) return this.#fail(bytes);
    const headLength = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4;
    if (bytes.length < headLength) return 0;
    const mask = Buffer.from(bytes.subarray(headLength - 4, headLength));
    if (!isControl) {
      this.#frames.expect(
        short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short,
      );
      this.#mask = mask;
      this.#at = 0;
      // The first frame of a message may be empty.
      if (op !== opContinuation) this.#isFirst = true;
      this.#isInMessage = !isFinal;
      return headLength;
    }
    if (bytes.length < headLength + short) return 0;
    if (op === opPing) this.#handler.ping(unmasked(bytes.subarray(headLength, headLength + short), mask, 0));
    else if (op === opClose) this.#end(closedNormally);
    return headLength + short;
  }

  /** Whether a frame continues no message, or begins one within another. Nobody minds when messages are dropped. */
  #isOutOfOrder(op: number): boolean {
    return this.#handler.data !== undefined && (op === opContinuation) !== this.#isInMessage;
  }

  #fail(bytes: Buffer): number {
    this.#end(protocolError);
    return bytes.length;
  }

  #end(code: number): void {
    this.#frames.end();
    this.#handler.ended(code);
  }
}

/** Returns a copy of bytes of a client without their mask; `at` is the position of the first one in its frame. */
function unmasked(bytes: Buffer, mask: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < copy.length; i++) copy[i]! ^= mask[(at + i) & 3]!;
  return copy;
}
