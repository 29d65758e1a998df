/** The request body of HTTP/1.1, as Node's server provides it. */
import type { Readable } from "node:stream";
import type { BodyReader, BodyStream } from "#http/api-request.ts";

/** The connection that brings a body. */
interface BodySource {
  /** Resumes the reading of the body, which is requested now. */
  release(): void;
  /** Pauses the reading of the body. */
  hold(): void;
}

export class ReadableBody implements BodyStream {
  readonly #readable: Readable;
  readonly #source: BodySource;
  #reader: BodyReader | undefined;

  constructor(readable: Readable, source: BodySource) {
    this.#readable = readable;
    this.#source = source;
  }

  read(reader: BodyReader): void {
    this.#reader = reader;
    const readable = this.#readable;
    const source = this.#source;
    // The listeners stay, because removing them costs more than they do.
    readable.on("data", (piece: Buffer) => {
      this.#reader?.take(piece);
    });
    readable.on("end", () => this.#take()?.end());
    readable.on("close", () => this.#take()?.lost());
    source.release();
  }

  /** Detaches the reader, which gets no further events, and returns it. */
  #take(): BodyReader | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }

  pause(): void {
    this.#readable.pause();
  }

  resume(): void {
    this.#readable.resume();
  }

  stop(): void {
    // Afterwards, the code that answers decides about the rest of the body.
    if (this.#take() === undefined) return;
    this.#readable.pause();
    this.#source.hold();
  }
}
