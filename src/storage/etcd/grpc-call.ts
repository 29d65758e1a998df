/**
 * A call of gRPC: a stream of HTTP/2 whose messages have five bytes before them, and whose status is in the trailers, or
 * in the headers when there is no message.
 *
 * Source: "gRPC over HTTP2" (`PROTOCOL-HTTP2.md` of gRPC), RFC 9113.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { oneLine } from "#std/printable.ts";
import type { EtcdError } from "./client.ts";
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
  /**
   * The call ended without a status. Returns its error: the member has certainly not begun with a call that was not sent,
   * or that HTTP/2 names as such.
   */
  lost(id: number | undefined, code: number, failure: Error | undefined): EtcdError;
  closed(): void;
}

type Headers = Readonly<Record<string, string | string[] | number | undefined>>;

export class GrpcCall<T> implements OpenCall {
  readonly #handler: CallHandler<T>;
  readonly #owner: CallOwner;
  #stream: ClientHttp2Stream | undefined;
  #isDone = false;
  /** The headers with the status, once they are there. */
  #status: Headers | undefined;
  /** The beginning of the head of a message, or of a message, that came in several pieces. */
  #head: Buffer | undefined;
  #message: Buffer | undefined;
  /** The number of bytes that are there of it. */
  #filled = 0;

  constructor(handler: CallHandler<T>, owner: CallOwner) {
    this.#handler = handler;
    this.#owner = owner;
  }

  /** Sends the call; `undefined`: its connection takes none any more. */
  open(session: ClientHttp2Session | undefined, headers: string[]): void {
    let stream: ClientHttp2Stream | undefined;
    try {
      stream = session?.request(headers, { endStream: false });
    } catch {
      // Node 24 throws when the session is about to end.
    }
    this.#stream = stream;
    if (session === undefined || stream === undefined) {
      // Callers do not expect the end before they have the call.
      return queueMicrotask(() => {
        this.#finish(this.#owner.lost(undefined, 0, undefined));
        this.#owner.closed();
      });
    }
    stream.on("response", (answer, flags) => this.#response(answer, flags));
    stream.on("trailers", (trailers) => {
      this.#status = trailers;
    });
    stream.on("data", (bytes: Buffer) => this.#take(bytes));
    stream.on("end", () => {
      if (this.#status !== undefined) this.#complete(this.#status);
    });
    let failure: Error | undefined;
    stream.on("error", (error) => {
      failure = error; // `close` follows
    });
    stream.on("close", () => {
      if (this.#status !== undefined) this.#complete(this.#status);
      else if (stream.rstCode === 0 && !session.destroyed) this.#break("an answer has no status");
      if (!this.#isDone) this.#finish(this.#owner.lost(stream.id, stream.rstCode, failure));
      this.#owner.closed();
    });
  }

  send(frame: Buffer): void {
    if (this.#stream?.writable === true) this.#stream.write(frame);
  }

  end(frame: Buffer): void {
    this.#stream?.end(frame);
  }

  cancel(): void {
    this.#isDone = true;
    this.#stream?.close(constants.NGHTTP2_CANCEL);
  }

  #response(headers: Headers, flags: number): void {
    const status = headers[":status"];
    const type = String(headers["content-type"] ?? "");
    if (status !== 200 || !/^application\/grpc(?:[+;]|$)/.test(type))
      return this.#break(
        `the answer is not one of gRPC: status ${String(status)}, type ${oneLine(type.slice(0, 100)) || "unknown"}`,
      );
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#status = headers;
  }

  #complete(headers: Headers): void {
    if (this.#isDone) return;
    const code = headers["grpc-status"];
    if (typeof code !== "string") return this.#break("an answer has no status");
    if (code !== "0") return this.#finish(this.#owner.refused(code, String(headers["grpc-message"] ?? "")));
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
          this.#deliver(at === 0 && length === piece.length ? piece : piece.subarray(at, at + length));
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
    else this.#finish(this.#owner.tooLong(length));
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
    // A call that goes on, on either side, has to be ended by both.
    const { writableEnded, readableEnded } = this.#stream ?? { writableEnded: true, readableEnded: true };
    if (!writableEnded || (!readableEnded && this.#status === undefined)) this.#stream?.close(constants.NGHTTP2_CANCEL);
  }
}

/** Returns the text of an error in one line. Errors of several addresses of one host have a code only. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  return oneLine(error.message || String((error as NodeJS.ErrnoException).code)); // the runtime's errors have both
}
