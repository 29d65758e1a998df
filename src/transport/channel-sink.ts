/**
 * Adapts the socket or response of a writer to the interface of streams, and tells when a slow client has caught up.
 */
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { StreamSink } from "#http/api-request.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** A writer that uses its connection alone. */
interface ChannelWriter extends ResponseWriter {
  /** Emits `drain` when there is space again, and `close`. */
  readonly channel: Writable;
}

/** The sink of a writer that uses its connection alone. */
export class ChannelSink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #writer: ChannelWriter;

  constructor(writer: ChannelWriter) {
    this.#writer = writer;
    writer.channel.on("drain", () => this.onDrain?.());
  }

  write(bytes: Buffer): boolean {
    if (bytes.length === 0 || this.#writer.gone) return !this.blocked;
    return this.#writer.write(bytes);
  }

  get blocked(): boolean {
    return this.#writer.gone || this.#writer.channel.writableNeedDrain;
  }

  end(): void {
    if (!this.#writer.gone) this.#writer.end();
  }
}

/** Tells the owner of a stream, once, that nobody reads it any more. */
export function tellClosed(sink: StreamSink): void {
  const { onClose } = sink;
  sink.onClose = undefined;
  onClose?.();
}

/** Calls back once when the channel has space again, or has closed. The returned function cancels it. */
export function whenDrained(channel: Writable, settled: (hasDrained: boolean) => void): () => void {
  const drain = (): void => settle(true);
  const close = (): void => settle(false);
  const cancel = (): void => {
    channel.off("drain", drain);
    channel.off("close", close);
  };
  const settle = (hasDrained: boolean): void => {
    cancel();
    settled(hasDrained);
  };
  channel.on("drain", drain);
  channel.on("close", close);
  return cancel;
}

/** Calls back when the peer has received all written bytes, or has closed. */
export function onceTaken(socket: Socket, callback: () => void): void {
  const settle = (): void => {
    socket.off("drain", settle);
    socket.off("close", settle);
    callback();
  };
  socket.on("drain", settle);
  socket.on("close", settle);
}
