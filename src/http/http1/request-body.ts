/**
 * The body of an HTTP/1.1 request: as long as it said, or in chunks (RFC 9112 section 7.1). It takes its bytes from the
 * connection's input only when somebody wants them, so that what nobody reads waits in the client.
 */
import type { BodyReader, BodySource } from "../incoming-request.ts";
import type { Input } from "./input.ts";
import { chunked, framing, type Refusal } from "./request-head.ts";

/** A chunk's size with its extensions. */
const sizeLineMax = 4 * 1024;
/** All trailer fields together; nobody reads them. */
const trailerMax = 64 * 1024;
/** A reader that takes trailers for headers would see another request. */
const neverTrailers: ReadonlySet<string> = new Set([...framing, "connection"]);
const lineEnd = Buffer.from("\r\n");

/** A chunk's size and extensions, these without the blanks that RFC 9112 calls bad. */
const chunkSize =
  /^([0-9a-fA-F]{1,13})(?:;[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;

/** What comes next in a chunked body. */
type Part = "size" | "data" | "data end" | "trailer";

export class RequestBody implements BodySource {
  readonly #input: Input;
  readonly #isChunked: boolean;
  /** Asks the connection for more turns of `advance`. */
  readonly #wanted: () => void;
  #part: Part = "size";
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left: number;
  #trailerLength = 0;
  #complete = false;
  #reader: BodyReader | undefined;
  /** Bytes that may still be thrown away; undefined while they are kept for a reader. */
  #discards: number | undefined;

  /** `length` in bytes, or `chunked`; more than none. */
  constructor(input: Input, length: number, wanted: () => void) {
    this.#input = input;
    this.#isChunked = length === chunked;
    this.#left = Math.max(length, 0);
    this.#wanted = wanted;
  }

  /** Whether all of it was taken from the input. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Whether bytes that come are taken from the input. */
  get isTaking(): boolean {
    return this.#reader !== undefined || this.#discards !== undefined;
  }

  read(reader: BodyReader): void {
    this.#reader = reader;
    this.#wanted();
  }

  stop(): void {
    this.#reader = undefined;
  }

  /** Throws away what is left, `bytesMax` at most. */
  discard(bytesMax: number): void {
    this.#reader = undefined;
    this.#discards = bytesMax;
    this.#wanted();
  }

  /** Whether more was to be thrown away than was allowed. */
  get isTooMuch(): boolean {
    return this.#discards !== undefined && this.#discards < 0;
  }

  /** Takes what there is, as long as somebody wants it. */
  advance(): Refusal | undefined {
    if (this.#isChunked) return this.#advanceChunked();
    if (this.#input.length > 0 && this.isTaking) this.#hand();
    if (this.#left === 0) this.#finish();
    return undefined;
  }

  #advanceChunked(): Refusal | undefined {
    while (!this.#complete && this.isTaking) {
      if (this.#part === "data") {
        if (this.#input.length === 0) return undefined;
        this.#hand();
        if (this.#left === 0) this.#part = "data end";
        continue;
      }
      const line = this.#line(this.#part === "trailer" ? trailerMax - this.#trailerLength : sizeLineMax);
      if (line === undefined) return undefined;
      const refusal = typeof line === "string" ? this.#takeLine(line) : line.refusal;
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #takeLine(line: string): Refusal | undefined {
    if (this.#part === "size") {
      const size = chunkSize.exec(line)?.[1];
      if (size === undefined) return "400 Bad Request";
      this.#left = Number.parseInt(size, 16);
      this.#part = this.#left === 0 ? "trailer" : "data";
    } else if (this.#part === "data end") {
      if (line !== "") return "400 Bad Request";
      this.#part = "size";
    } else {
      this.#trailerLength += line.length + lineEnd.length;
      if (line === "") this.#finish();
      else {
        const name = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t\x20-\x7e\x80-\xff]*$/.exec(line)?.[1];
        if (name === undefined || neverTrailers.has(name.toLowerCase())) return "400 Bad Request";
      }
    }
    return undefined;
  }

  /** The next line without its end; undefined while that has not come. */
  #line(lengthMax: number): string | { readonly refusal: Refusal } | undefined {
    const input = this.#input;
    const end = input.indexOf(0x0a, 0);
    if (end < 0) return input.length > lengthMax ? tooLong : undefined;
    if (end > lengthMax) return tooLong;
    if (end === 0 || input.at(end - 1) !== 0x0d) return { refusal: "400 Bad Request" };
    const line = input.text(end - 1);
    input.skip(end + 1);
    return line;
  }

  /** Hands over what there is of the body or the chunk. */
  #hand(): void {
    const length = Math.min(this.#left, this.#input.length);
    this.#left -= length;
    if (this.#reader !== undefined) {
      this.#reader.take(this.#input.take(length));
    } else {
      this.#input.skip(length);
      this.#discards! -= length;
    }
  }

  #finish(): void {
    if (this.#complete) return;
    this.#complete = true;
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.end();
  }
}

const tooLong = { refusal: "413 Content Too Large" };
