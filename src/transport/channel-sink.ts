/**
 * Adapts the socket or response of a writer to the interface of streams, and tells when a slow client has caught up.
 */
import type { Socket } from "node:net";
import type { StreamSink } from "#http/api-request.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** The sink of a writer that uses its connection alone. */
export class ChannelSink implements StreamSink {
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly #writer: ResponseWriter;

  constructor(writer: ResponseWriter) {
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
