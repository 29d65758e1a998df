/** HTTP/2 requests and replies on a stream. */
import type { BodyStream, StreamSink } from "#http/api-request.ts";
import { errorCodes } from "#http2/frames.ts";
import type { ServerStream } from "#http2/server-stream.ts";
import type { Message } from "./incoming-request.ts";
import type { ResponseWriter } from "./response-writer.ts";

export class Http2Message implements Message {
  readonly headers: Message["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: BodyStream | undefined;
  readonly #stream: ServerStream;

  constructor(stream: ServerStream) {
    this.headers = stream.headers;
    this.rawHeaders = stream.fields;
    this.body = stream.hasBody ? stream : undefined;
    this.#stream = stream;
  }

  sendContinue(): void {
    if (this.headers["expect"]?.toLowerCase() === "100-continue") this.#stream.sendContinue();
  }
}

export class Http2ResponseWriter implements ResponseWriter {
  readonly #stream: ServerStream;
  readonly #date: () => string;
  #settled: ((hasDrained: boolean) => void) | undefined;

  /** `date` returns the time as the header of that name shows it. */
  constructor(stream: ServerStream, date: () => string) {
    this.#stream = stream;
    this.#date = date;
  }

  /** Called when the stream is closed. */
  closed(): void {
    this.#settle(false);
  }

  #settle(hasDrained: boolean): void {
    const settled = this.#settled;
    this.#settled = undefined;
    settled?.(hasDrained);
  }

  get gone(): boolean {
    return this.#stream.isClosed;
  }

  head(code: number, headers: readonly string[], length: number): void {
    this.#respond(code, headers, length, false);
  }

  write(bytes: Buffer): boolean {
    return this.#stream.write(bytes);
  }

  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    const empty = bytes === undefined || bytes.length === 0;
    this.#respond(code, headers, length, empty);
    if (!empty) this.#stream.end(bytes);
  }

  #respond(code: number, headers: readonly string[], length: number, end: boolean): void {
    const fields = [":status", String(code), ...headers, "Date", this.#date()];
    if (length >= 0) fields.push("Content-Length", String(length));
    this.#stream.respond(fields, end);
  }

  sink(): StreamSink {
    return new Http2Sink(this.#stream);
  }

  end(): void {
    this.#stream.end();
  }

  destroy(): void {
    this.#stream.reset(errorCodes.cancel);
  }

  whenDrained(settled: (hasDrained: boolean) => void): () => void {
    this.#settled = settled;
    this.#stream.onDrain = () => this.#settle(true);
    return () => {
      this.#settled = undefined;
    };
  }
}

/** The bytes of a stream that may wait for a client: few, since a connection has many streams. */
const waitingBytesMax = 16 * 1024;

class Http2Sink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #stream: ServerStream;
  /** Whether the slow client has been reported. */
  #isSlow = false;

  constructor(stream: ServerStream) {
    this.#stream = stream;
    stream.onDrain = () => {
      if (!this.#isSlow) return;
      this.#isSlow = false;
      this.onDrain?.();
    };
  }

  write(bytes: Buffer): boolean {
    this.#stream.write(bytes);
    // Its owner still waits if bytes come from others, such as a bookmark, before all are on their way.
    this.#isSlow ||= this.blocked;
    return !this.blocked;
  }

  get blocked(): boolean {
    return this.#stream.isClosed || this.#stream.waitingBytes > waitingBytesMax;
  }

  end(): void {
    this.#stream.end();
  }
}
