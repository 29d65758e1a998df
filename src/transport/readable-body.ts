/** The request body as Node's server provides it, for either protocol. */
import type { Readable } from "node:stream";
import type { BodyReader, BodyStream } from "#http/api-request.ts";

export class ReadableBody implements BodyStream {
  readonly #readable: Readable;
  #reader: BodyReader | undefined;

  constructor(readable: Readable) {
    this.#readable = readable;
  }

  read(reader: BodyReader): void {
    this.#reader = reader;
    const readable = this.#readable;
    // The listeners stay, as taking them away costs more than they do.
    readable.on("data", (piece: Buffer) => this.#reader?.take(piece));
    readable.on("end", () => this.#take()?.end());
    readable.on("close", () => this.#take()?.lost());
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
    if (this.#take() !== undefined) this.#readable.pause();
  }
}
