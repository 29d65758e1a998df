/**
 * The server side of a WebSocket (RFC 6455) whose messages carry bytes in both directions. Bytes of messages are passed on
 * as they come, so nothing is kept but the head of a frame; control frames are answered here.
 */

const opContinuation = 0;
const opBinary = 2;
const opClose = 8;
const opPing = 9;
const opPong = 10;
const controlBytesMax = 125;

interface WebSocketHandler {
  /** Takes the next bytes of a message; `isFirst` says that the message begins with them. It may be empty. */
  data(bytes: Buffer, isFirst: boolean): void;
  /** Writes a frame to the client, in answer to one of its control frames. */
  answer(frame: Buffer): void;
  /** Called once when the client closes, or breaks the protocol. */
  closed(): void;
}

/** Reads frames of the client, however they are split. */
export class WebSocketPeer {
  readonly #handler: WebSocketHandler;
  #head: Buffer = Buffer.alloc(0);
  #isOver = false;
  /** The number of bytes of the current data frame that have not come yet. */
  #left = 0;
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
    let rest = piece;
    while (!this.#isOver && rest.length > 0) {
      if (this.#left > 0) {
        const bytes = Buffer.from(rest.subarray(0, this.#left));
        rest = rest.subarray(bytes.length);
        this.#left -= bytes.length;
        this.#pass(bytes);
        continue;
      }
      const all: Buffer = this.#head.length === 0 ? rest : Buffer.concat([this.#head, rest]);
      const used = this.#frame(all);
      if (used === 0) {
        this.#head = Buffer.from(all);
        return;
      }
      this.#head = Buffer.alloc(0);
      rest = all.subarray(used);
    }
  }

  #pass(bytes: Buffer): void {
    for (let i = 0; i < bytes.length; i++) bytes[i]! ^= this.#mask[(this.#at + i) & 3]!;
    this.#at += bytes.length;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#handler.data(bytes, isFirst);
  }

  /** Reads the head of a frame, or a control frame. Returns the number of used bytes; 0 when more must come first. */
  #frame(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    const [first = 0, second = 0] = bytes;
    const op = first & 0x0f;
    const short = second & 0x7f;
    const isFinal = (first & 0x80) !== 0;
    const isControl = op >= opClose;
    const isBroken =
      (first & 0x70) !== 0 ||
      (second & 0x80) === 0 ||
      op > opPong ||
      (op > opBinary && !isControl) ||
      (isControl && (!isFinal || short > controlBytesMax)) ||
      (!isControl && (op === opContinuation) !== this.#isInMessage);
    if (isBroken) return this.#fail(bytes, 1002);
    const headLength = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4;
    if (bytes.length < headLength) return 0;
    const mask = Buffer.from(bytes.subarray(headLength - 4, headLength));
    if (!isControl) {
      const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
      this.#left = length;
      this.#mask = mask;
      this.#at = 0;
      this.#isFirst = op !== opContinuation;
      this.#isInMessage = !isFinal;
      return headLength;
    }
    if (bytes.length < headLength + short) return 0;
    const payload = Buffer.from(bytes.subarray(headLength, headLength + short));
    for (let i = 0; i < payload.length; i++) payload[i]! ^= mask[i & 3]!;
    if (op === opPing) this.#handler.answer(frameOf(opPong, payload));
    else if (op === opClose) this.#fail(bytes, 1000);
    return headLength + short;
  }

  #fail(bytes: Buffer, code: number): number {
    this.#isOver = true;
    this.#handler.answer(closeFrame(code));
    this.#handler.closed();
    return bytes.length;
  }
}

/** Returns a message of one frame. Frames of servers are not masked. `bytes` are its parts. */
export const binaryMessage = (...bytes: readonly Buffer[]): Buffer => frameOf(opBinary, ...bytes);

export const closeFrame = (code: number): Buffer => frameOf(opClose, Buffer.from([code >> 8, code & 0xff]));

function frameOf(op: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | op;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2);
  else if (length >= 126) head.writeUInt16BE(length, 2);
  return Buffer.concat([head, ...parts]);
}
