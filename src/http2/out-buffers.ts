/** The buffers into which sessions write frames. Few are in use at once, since each turn of the event loop gives them back. */
import type { Writable } from "node:stream";
import { frameBytesMax, headLength } from "./frames.ts";

/** Four of the longest frames, which are a piece of a long answer, and some short ones. */
const bufferBytes = 4 * (headLength + frameBytesMax) + 2048;
/** The number of unused buffers that are kept. */
const keptMax = 16;
/** Output up to this many bytes is copied, so that its buffer is free again. */
const copiedBytesMax = 8 * 1024;

export class OutBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
  }

  give(buffer: Buffer): void {
    if (this.#free.length < keptMax) this.#free.push(buffer);
  }

  /**
   * Writes the first `bytes` of a buffer, and takes the buffer back. The writable has sent or copied what it calls back for.
   * Returns false when it is full.
   */
  write(writable: Writable, buffer: Buffer, bytes: number): boolean {
    if (bytes > copiedBytesMax) return writable.write(buffer.subarray(0, bytes), () => this.give(buffer));
    const copy = Buffer.allocUnsafe(bytes);
    buffer.copy(copy, 0, 0, bytes);
    this.give(buffer);
    return writable.write(copy);
  }
}
