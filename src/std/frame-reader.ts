/** Reads frames from the pieces of a connection, however they are split. Nothing is kept but the head of a frame. */

interface FrameHandler {
  /**
   * Reads the head of a frame, or a short frame as a whole. Returns the number of used bytes; 0 when more must come first.
   */
  head(bytes: Buffer): number;
  /** Takes bytes of the payload that `expect` has announced; `isLast` says that it ends with them. */
  payload(bytes: Buffer, isLast: boolean): void;
}

export class FrameReader {
  readonly #handler: FrameHandler;
  #head: Buffer = Buffer.alloc(0);
  /** The number of bytes of the current payload that have not come yet. */
  #left = 0;
  #isOver = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Announces a payload of so many bytes behind the current head. */
  expect(length: number): void {
    this.#left = length;
  }

  /** Drops everything that comes from now on. */
  end(): void {
    this.#isOver = true;
  }

  take(piece: Buffer): void {
    let rest = piece;
    while (!this.#isOver && rest.length > 0) {
      if (this.#left > 0) {
        const bytes = rest.subarray(0, this.#left);
        rest = rest.subarray(bytes.length);
        this.#left -= bytes.length;
        this.#handler.payload(bytes, this.#left === 0);
        continue;
      }
      const all: Buffer = this.#head.length === 0 ? rest : Buffer.concat([this.#head, rest]);
      const used = this.#handler.head(all);
      if (used === 0) {
        this.#head = Buffer.from(all);
        return;
      }
      this.#head = Buffer.alloc(0);
      rest = all.subarray(used);
    }
  }
}
