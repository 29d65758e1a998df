/** Reads the answers of a proxy from a socket, which the caller uses for something else afterwards. */
import type { Socket } from "node:net";

export class ProxyReader {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", this.#take).on("error", this.#fail).on("close", this.#end).on("end", this.#end);
  }

  /** Resolves with the next `count` bytes. Rejects when the socket ends before. */
  async bytes(count: number): Promise<Buffer> {
    while (this.#received.length < count) await this.#more();
    return this.#cut(count);
  }

  /** Resolves with the text up to and including `mark`. Rejects when it is longer than `lengthMax`. */
  async textUntil(mark: string, lengthMax: number): Promise<string> {
    for (;;) {
      const at = this.#received.indexOf(mark);
      if (at >= 0) return this.#cut(at + mark.length).toString("latin1");
      if (this.#received.length > lengthMax) throw new Error("its answer is too long");
      await this.#more();
    }
  }

  /** Gives the socket back, with the bytes that were not used. */
  release(): void {
    const socket = this.#socket;
    socket.off("data", this.#take).off("error", this.#fail).off("close", this.#end).off("end", this.#end);
    socket.pause();
    if (this.#received.length > 0) socket.unshift(this.#received);
  }

  #cut(length: number): Buffer {
    const cut = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return cut;
  }

  async #more(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  readonly #take = (piece: Buffer): void => {
    this.#received = Buffer.concat([this.#received, piece]);
    this.#wake?.();
  };

  readonly #fail = (error: Error): void => {
    this.#failure ??= error;
    this.#wake?.();
  };

  readonly #end = (): void => this.#fail(new Error("it closed the connection"));
}
