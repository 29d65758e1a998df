/** A request of an HTTP/2 connection, and its answer. `server-session.ts` moves the bytes. */
import type { Node } from "#std/linked-list.ts";
import { errorCodes } from "./frames.ts";
import type { RequestHeaders } from "./request-fields.ts";

/** Takes the body of a request. */
interface PieceReader {
  take(piece: Buffer): void;
  end(): void;
  /** Is called when the body ended early. */
  lost(): void;
}

/** The part of a session that its streams use. */
export interface StreamSession {
  /** Sends a block of headers. Names and values alternate; `:status` is the first. */
  sendHeaders(stream: ServerStream, fields: readonly string[], isEnd: boolean): void;
  /** Sends of a stream what the peer and the connection take. */
  sendBody(stream: ServerStream): void;
  /** Tells the peer that the stream is given up. */
  sendReset(stream: ServerStream, code: number): void;
  /** Lets the peer send more of its bodies before they are read, since one is wanted. */
  bodyWanted(): void;
  /** Notes that bytes of the body have a reader, so that the peer may send more. */
  consumed(stream: ServerStream, bytes: number): void;
  /** Notes that bytes of a body are not kept, so that the peer may send as many of other bodies. */
  dropped(bytes: number): void;
  /** Forgets a stream, and calls its `onClose` later. */
  forget(stream: ServerStream): void;
}

export class ServerStream {
  readonly id: number;
  readonly headers: RequestHeaders;
  /** The fields as the client sent them: names and values alternate. */
  readonly fields: readonly string[];
  readonly hasBody: boolean;
  readonly #session: StreamSession;

  /** Is called when bytes waited, and all of them are on their way. */
  onDrain: (() => void) | undefined;
  /** Is called once when nothing more comes or goes. */
  onClose: (() => void) | undefined;

  /** The bytes that the peer takes now, and those that it may send. */
  sendWindow: number;
  receiveWindow: number;
  /** The node in the list of streams that can send; its session's. */
  sendingNode: Node<ServerStream> | undefined;
  /** The bytes of the body that were taken since the peer was told so. */
  taken = 0;
  /** The bytes of the body that are still to come by its declared length; -1 when that is not known. */
  bodyLeft: number;

  /** The pieces of the answer that wait, the first of them from `offset` on. */
  #waiting: Buffer[] = [];
  #first = 0;
  #offset = 0;
  waitingBytes = 0;

  #reader: PieceReader | undefined;
  /** The pieces of the body that came before somebody wanted them. */
  #pieces: Buffer[] = [];
  #nextPiece = 0;
  #pieceBytes = 0;
  #isPaused = true;
  #isBodyStopped = false;
  isBodyComplete: boolean;

  isAnswered = false;
  /** Whether the answer is complete; its last byte may wait. */
  isEnded = false;
  isClosed = false;
  #wasFull = false;

  constructor(
    id: number,
    { headers, fields, hasBody }: Pick<ServerStream, "headers" | "fields" | "hasBody">,
    session: StreamSession,
    windows: { readonly send: number; readonly receive: number },
  ) {
    this.id = id;
    this.headers = headers;
    this.fields = fields;
    this.hasBody = hasBody;
    this.isBodyComplete = !hasBody;
    this.bodyLeft = headers["content-length"] === undefined ? -1 : Number(headers["content-length"]);
    this.#session = session;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }

  /** Tells a client that waits for it to send the body. */
  sendContinue(): void {
    if (!this.isAnswered && !this.isClosed) this.#session.sendHeaders(this, continueFields, false);
  }

  /** Sends the head of the answer. */
  respond(fields: readonly string[], isEnd: boolean): void {
    if (this.isClosed || this.isAnswered) return;
    this.isAnswered = true;
    if (isEnd) this.isEnded = true;
    this.#session.sendHeaders(this, fields, isEnd);
    if (isEnd) this.sent();
  }

  /** Sends a part of the body. Returns false when some of it waits. */
  write(bytes: Buffer): boolean {
    if (this.isClosed || this.isEnded || bytes.length === 0) return this.waitingBytes === 0;
    this.#waiting.push(bytes);
    this.waitingBytes += bytes.length;
    this.#session.sendBody(this);
    this.#wasFull ||= this.waitingBytes > 0;
    return this.waitingBytes === 0;
  }

  /** Ends the answer. */
  end(bytes?: Buffer): void {
    if (this.isClosed || this.isEnded) return;
    if (bytes !== undefined && bytes.length > 0) {
      this.#waiting.push(bytes);
      this.waitingBytes += bytes.length;
    }
    this.isEnded = true;
    this.#session.sendBody(this);
  }

  /** Gives the stream up, from our side. */
  reset(code: number): void {
    if (this.isClosed) return;
    this.#session.sendReset(this, code);
    this.close();
  }

  /** Copies up to `count` bytes of those that wait into `out`. */
  take(out: Buffer, at: number, count: number): void {
    this.waitingBytes -= count;
    for (let left = count; left > 0; ) {
      const piece = this.#waiting[this.#first]!; // as many bytes wait
      const length = Math.min(left, piece.length - this.#offset);
      piece.copy(out, at, this.#offset, this.#offset + length);
      at += length;
      left -= length;
      this.#offset += length;
      if (this.#offset < piece.length) return;
      this.#offset = 0;
      this.#first++;
    }
    if (this.#first === this.#waiting.length || this.#first >= 64) {
      this.#waiting.splice(0, this.#first);
      this.#first = 0;
    }
  }

  /** Called when what waited is on its way. */
  drained(): void {
    if (!this.#wasFull) return;
    this.#wasFull = false;
    this.onDrain?.();
  }

  /** Called when the last byte of the answer is on its way. */
  sent(): void {
    // The rest of a body that comes after the answer is of no use (RFC 9113 section 8.1).
    if (!this.isBodyComplete) this.#session.sendReset(this, errorCodes.none);
    this.close();
  }

  /** Passes the body on. Of a stream that is closed it is lost, even if all of it came. */
  read(reader: PieceReader): void {
    if (this.isClosed) return reader.lost();
    this.#reader = reader;
    this.#session.bodyWanted();
    this.resume();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (this.#isBodyStopped || this.#reader === undefined) return;
    this.#isPaused = false;
    this.#deliver();
  }

  /** Says that no more of the body is needed. */
  stop(): void {
    this.#isBodyStopped = true;
    this.#isPaused = true;
    this.#reader = undefined;
    this.#drop();
  }

  #drop(): void {
    this.#pieces = [];
    this.#nextPiece = 0;
    const bytes = this.#pieceBytes;
    this.#pieceBytes = 0;
    if (bytes > 0) this.#session.dropped(bytes);
  }

  /** Takes a piece of the body from the connection. */
  came(part: Buffer): void {
    if (this.#isBodyStopped) return this.#session.dropped(part.length);
    const piece = part.length < part.buffer.byteLength / keptPerByteMax ? copyOf(part) : part;
    if (this.#reader !== undefined && !this.#isPaused && this.#pieces.length === 0) {
      this.#session.consumed(this, piece.length);
      this.#reader.take(piece);
    } else {
      this.#pieces.push(piece);
      this.#pieceBytes += piece.length;
    }
  }

  /** Called when the body is complete. */
  complete(): void {
    this.isBodyComplete = true;
    if (!this.#isPaused) this.#deliver();
  }

  #deliver(): void {
    while (this.#nextPiece < this.#pieces.length && !this.#isPaused && !this.isClosed) {
      const piece = this.#pieces[this.#nextPiece++]!;
      this.#pieceBytes -= piece.length;
      this.#session.consumed(this, piece.length);
      this.#reader?.take(piece);
    }
    if (this.#nextPiece > 0) this.#pieces.splice(0, this.#nextPiece);
    this.#nextPiece = 0;
    const reader = this.#reader;
    if (this.#isPaused || this.isClosed || !this.isBodyComplete || reader === undefined) return;
    this.#reader = undefined;
    reader.end();
  }

  /** Ends the stream: nothing more comes or goes. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#waiting = [];
    this.waitingBytes = 0;
    this.#drop();
    this.#session.forget(this);
  }

  /** Tells those who wait for the stream that it is closed. */
  tellClosed(): void {
    const { onClose } = this;
    const reader = this.#reader;
    this.#reader = undefined;
    this.onClose = undefined;
    reader?.lost();
    onClose?.();
  }
}

/** A piece of a body may keep so many times its length of what came with it. */
const keptPerByteMax = 16;

/** Returns a copy that keeps nothing else. */
function copyOf(piece: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

const continueFields = [":status", "100"] as const;
