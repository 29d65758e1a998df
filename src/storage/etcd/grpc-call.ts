/**
 * A call of gRPC: a stream of HTTP/2 whose messages have five bytes before them, and whose status is in the trailers, or
 * in the headers when there is no message.
 *
 * Source: "gRPC over HTTP2" (`PROTOCOL-HTTP2.md` of gRPC), RFC 9113.
 */
import { oneLine } from "#std/printable.ts";
import type { EtcdError } from "./client.ts";
import type { HeaderFields } from "#http2/kept-fields.ts";
import type { Http2Client, OpenStream, StreamHandler } from "#http2/client.ts";
import { frameHeadLength } from "./messages.ts";

/** The maximum bytes of a message. Callers that read many values ask for fewer when an answer is longer. */
const messageBytesMax = 64 * 1024 * 1024;

/** Takes what comes of a call. */
export interface CallHandler<T> {
  /** Reads a message, whose memory is shared. An error that it throws says that the message breaks the protocol. */
  read(bytes: Buffer): T;
  take(message: T): void;
  /** Is called once, at last. `undefined`: the member ended the call without an error. */
  ended(error: EtcdError | undefined): void;
}

/** A call that has been sent. */
export interface OpenCall {
  send(frame: Buffer): void;
  /** Gives the call up: its handler is not called any more. */
  cancel(): void;
}

/** The part of a connection that its calls know. */
export interface CallOwner {
  /** The peer breaks the protocol. Returns the error of the call. */
  broken(reason: string): EtcdError;
  /** A message is longer than this client takes. Returns the error of the call; the connection goes on. */
  tooLong(bytes: number): EtcdError;
  /** The call ended with a status other than 0. Returns its error. */
  refused(code: string, message: string): EtcdError;
  /** The call ended without a status. Returns its error. `isUntouched`: the member has certainly not begun with it. */
  lost(isUntouched: boolean): EtcdError;
  closed(): void;
}

export class GrpcCall<T> implements OpenCall, StreamHandler {
  readonly #handler: CallHandler<T>;
  readonly #owner: CallOwner;
  readonly #stream: OpenStream;
  #isDone = false;
  #isAnswered = false;
  /** The beginning of the head of a message, or of a message, that came in several pieces. */
  #head: Buffer | undefined;
  #message: Buffer | undefined;
  /** The number of bytes that are there of it. */
  #filled = 0;

  /** Begins a call. `headers` is a block of HTTP/2. */
  constructor(connection: Http2Client, headers: Buffer, handler: CallHandler<T>, owner: CallOwner) {
    this.#handler = handler;
    this.#owner = owner;
    this.#stream = connection.open(headers, this);
  }

  send(frame: Buffer): void {
    this.#stream.send(frame, false);
  }

  end(frame: Buffer): void {
    this.#stream.send(frame, true);
  }

  cancel(): void {
    this.#isDone = true;
    this.#stream.reset();
  }

  headers(fields: HeaderFields, isEnd: boolean): void {
    if (this.#isDone) return;
    const status = fields.get(":status") ?? "none";
    // Answers that say that another one follows have statuses from 100 on.
    if (!this.#isAnswered && !isEnd && status.startsWith("1")) return;
    const type = fields.get("content-type") ?? "";
    if (!this.#isAnswered && (status !== "200" || !/^application\/grpc(?:[+;]|$)/.test(type)))
      return this.#break(
        `the answer is not one of gRPC: status ${oneLine(status.slice(0, 100))}, type ${oneLine(type.slice(0, 100)) || "unknown"}`,
      );
    if (isEnd) return this.#complete(fields);
    if (this.#isAnswered) return this.#break("an answer has headers in its middle");
    this.#isAnswered = true;
  }

  data(bytes: Buffer, isEnd: boolean): void {
    if (this.#isDone) return;
    if (!this.#isAnswered) return this.#break("an answer has no headers");
    this.#take(bytes);
    if (isEnd) this.#break("an answer has no status");
  }

  closed(isUntouched: boolean): void {
    if (!this.#isDone) this.#finish(this.#owner.lost(isUntouched));
    this.#owner.closed();
  }

  #complete(fields: HeaderFields): void {
    const code = fields.get("grpc-status");
    if (code === undefined) return this.#break("an answer has no status");
    if (code !== "0") return this.#finish(this.#owner.refused(code, fields.get("grpc-message") ?? ""));
    if (this.#head !== undefined || this.#message !== undefined) return this.#break("a message is cut off");
    this.#finish(undefined);
  }

  /** Takes a piece of the answer, which may have several messages, or a part of one. */
  #take(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && !this.#isDone) {
      if (this.#message === undefined && this.#head === undefined && piece.length - at >= frameHeadLength) {
        // The head is whole, and mostly the message too, which is not copied then.
        const length = this.#lengthOf(piece, at);
        at += frameHeadLength;
        if (length === undefined) return;
        if (length <= piece.length - at) {
          this.#deliver(piece.subarray(at, at + length));
          at += length;
        } else this.#begin(length);
      } else if (this.#message === undefined) {
        this.#head ??= Buffer.alloc(frameHeadLength);
        at += this.#fill(this.#head, piece, at);
        if (this.#filled < frameHeadLength) return;
        const length = this.#lengthOf(this.#head, 0);
        this.#head = undefined;
        if (length === undefined) return;
        this.#begin(length);
        if (length === 0) this.#deliver(this.#message!); // `#begin` sets it
      } else {
        const message: Buffer = this.#message;
        at += this.#fill(message, piece, at);
        if (this.#filled === message.length) this.#deliver(message);
      }
    }
  }

  /** Returns the length that the head of a message says; `undefined` when it ends the call. */
  #lengthOf(bytes: Buffer, at: number): number | undefined {
    const length = bytes.readUInt32BE(at + 1);
    if (bytes[at] !== 0) this.#break("a message is compressed");
    else if (length <= messageBytesMax) return length;
    else {
      this.#finish(this.#owner.tooLong(length));
      this.#stream.reset();
    }
    return undefined;
  }

  #begin(length: number): void {
    this.#message = Buffer.allocUnsafeSlow(length);
    this.#filled = 0;
  }

  /** Copies what fits. Returns its length. */
  #fill(target: Buffer, piece: Buffer, at: number): number {
    const count = piece.copy(target, this.#filled, at);
    this.#filled += count;
    return count;
  }

  #deliver(message: Buffer): void {
    this.#message = undefined;
    this.#filled = 0;
    let read: T;
    try {
      read = this.#handler.read(message);
    } catch (error) {
      return this.#break(problemOf(error));
    }
    this.#handler.take(read);
  }

  #break(reason: string): void {
    if (!this.#isDone) this.#finish(this.#owner.broken(reason));
  }

  #finish(error: EtcdError | undefined): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#handler.ended(error);
  }
}

/** Returns the text of an error in one line. Errors of several addresses of one host have a code only. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  return oneLine(error.message || String((error as NodeJS.ErrnoException).code)); // the runtime's errors have both
}
