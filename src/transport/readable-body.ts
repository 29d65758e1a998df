/** The request body as Node's server provides it, for either protocol. */
import type { Readable } from "node:stream";
import type { BodyReader, BodyStream } from "#http/api-request.ts";

/** The connection that brings a body. */
export interface BodySource {
  /** Brings the body, which is wanted now. */
  release?(): void;
  /** Brings no more. */
  hold?(): void;
  /** Called when `bytes` bytes of the body have come. */
  took?(bytes: number): void;
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
    // The listeners stay, as taking them away costs more than they do.
    readable.on("data", (piece: Buffer) => {
      source.took?.(piece.length);
      this.#reader?.take(piece);
    });
    readable.on("end", () => this.#take()?.end());
    readable.on("close", () => this.#take()?.lost());
    source.release?.();
  }

  /** Takes the reader, which gets no further events and is released. */
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
    // Later, whoever answers decides what becomes of the rest.
    if (this.#take() === undefined) return;
    this.#readable.pause();
    this.#source.hold?.();
  }
}
