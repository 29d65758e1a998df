/**
 * The WebSocket protocol (RFC 6455) for a server that only sends: handshake, outgoing frames, and incoming control
 * frames. Data from clients is read and dropped, as upstream does on a watch.
 */
import { createHash } from "node:crypto";
import { badRequest, forbidden, type StatusError } from "#meta/status-error.ts";
import type { Headers } from "#http/api-request.ts";

/**
 * The result of the check of a WebSocket request: a problem, or the lines of the answer's head that depend on the
 * request.
 */
export interface Handshake {
  readonly problem: StatusError | undefined;
  /** The value that proves that the request was understood. */
  readonly accept: string;
  /** The offered subprotocols, without tokens. */
  readonly protocols: readonly string[];
  /** The chosen subprotocol; empty when none was offered. */
  readonly protocol: string;
}

/** The prefix, in every API domain, of a bearer token that is sent as a subprotocol. */
const tokenPrefix = "base64url.bearer.authorization.";

export function handshakeOf(headers: Headers): Handshake {
  const key = headers["sec-websocket-key"] ?? "";
  const protocols = (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "" && !protocol.startsWith(tokenPrefix));
  return {
    problem: problemOf(headers, key, protocols),
    accept: createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64"),
    protocols,
    protocol: protocols[0] ?? "",
  };
}

function problemOf(headers: Headers, key: string, protocols: readonly string[]): StatusError | undefined {
  if (headers["sec-websocket-version"] !== "13") return badRequest("missing or unknown Sec-WebSocket-Version, want 13");
  if (key === "") return badRequest("missing Sec-WebSocket-Key");
  // Upstream serves none that it understands, so that it could choose, and takes any single one.
  if (protocols.length > 1) return badRequest("more than one WebSocket subprotocol was offered");
  const origin = headers["origin"];
  if (origin === undefined || URL.canParse(origin)) return undefined;
  return forbidden({ group: "", resource: "" }, "", "the origin of the WebSocket is no URL");
}

export const closedNormally = 1000;
const protocolError = 1002;

const opText = 1;
const opBinary = 2;
const opClose = 8;
const opPing = 9;
const opPong = 10;
const newline = 0x0a;

/** Frames by batch of lines, so that a batch for many watchers is framed once. */
const framed = new WeakMap<Buffer, Buffer>();

/** Returns one text frame for each line, including the line's end. */
export function textFrames(lines: Buffer): Buffer {
  let frames = framed.get(lines);
  if (frames === undefined) {
    const parts: Buffer[] = [];
    for (let at = 0; at < lines.length; ) {
      const lineEnd = lines.indexOf(newline, at);
      const end = lineEnd === -1 ? lines.length : lineEnd + 1;
      parts.push(frameHead(opText, end - at), lines.subarray(at, end));
      at = end;
    }
    frames = Buffer.concat(parts);
    framed.set(lines, frames);
  }
  return frames;
}

/** Returns bytes that are not text as one message. */
export const binaryFrame = (bytes: Buffer): Buffer => Buffer.concat([frameHead(opBinary, bytes.length), bytes]);

export function closeFrame(code: number): Buffer {
  return Buffer.from([0x80 | opClose, 2, code >> 8, code & 0xff]);
}

export const pongFrame = (payload: Buffer): Buffer => Buffer.concat([frameHead(opPong, payload.length), payload]);

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

interface FrameReaderHandler {
  ping(payload: Buffer): void;
  /**
   * Called when the client ends the connection or breaks the protocol. Nothing is read afterwards. `code` is the code
   * of the answer.
   */
  ended(code: number): void;
}

/** Reads the frames of a client, however they are split. Buffers a control frame at most, never data. */
export class FrameReader {
  readonly #handler: FrameReaderHandler;
  /** The received bytes of an incomplete head or control frame. */
  #buffer: Buffer = Buffer.alloc(0);
  /** The number of bytes of data that are still to be discarded. */
  #dropping = 0;
  #over = false;

  constructor(handler: FrameReaderHandler) {
    this.#handler = handler;
  }

  take(piece: Buffer): void {
    let rest = piece;
    while (!this.#over && rest.length > 0) {
      if (this.#dropping > 0) {
        const dropped = Math.min(this.#dropping, rest.length);
        this.#dropping -= dropped;
        rest = rest.subarray(dropped);
        continue;
      }
      // Heads with a control frame's payload are short, so few bytes are kept.
      const all: Buffer = this.#buffer.length === 0 ? rest : Buffer.concat([this.#buffer, rest]);
      const used = this.#frame(all);
      if (used === 0) {
        this.#buffer = Buffer.from(all);
        return;
      }
      this.#buffer = noBytes;
      rest = all.subarray(used);
    }
  }

  /** Reads one frame as far as needed. Returns the number of used bytes, or 0 when more bytes must arrive first. */
  #frame(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    const first = bytes[0]!;
    const second = bytes[1]!;
    const op = first & 0x0f;
    const isControl = op >= opClose;
    const short = second & 0x7f;
    const isFinal = (first & 0x80) !== 0;
    // These violate the protocol: reserved bits, unknown opcodes, no mask, a long or fragmented control frame.
    if ((first & 0x70) !== 0 || op > opPong || (op > 2 && !isControl) || (second & 0x80) === 0)
      return this.#fail(bytes);
    if (isControl && (!isFinal || short > 125)) return this.#fail(bytes);
    const headLength = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4;
    if (bytes.length < headLength) return 0;
    if (!isControl) {
      const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
      this.#dropping = length;
      return headLength;
    }
    if (bytes.length < headLength + short) return 0;
    const payload = Buffer.from(bytes.subarray(headLength, headLength + short));
    for (let i = 0; i < payload.length; i++) payload[i]! ^= bytes[headLength - 4 + (i % 4)]!;
    if (op === opPing) this.#handler.ping(payload);
    else if (op === opClose) this.#end(closedNormally);
    return headLength + short;
  }

  #fail(bytes: Buffer): number {
    this.#end(protocolError);
    return bytes.length;
  }

  #end(code: number): void {
    this.#over = true;
    this.#handler.ended(code);
  }
}

const noBytes = Buffer.alloc(0);
