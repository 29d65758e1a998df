/** The buffers into which sessions write frames. Few are in use at once, since each turn of the event loop gives them back. */
import type { Writable } from "node:stream";
import { frameBytesMax, headLength } from "./frames.ts";

const frameBytes = headLength + frameBytesMax;
/** Four of the longest frames, and some short ones. */
const bufferBytes = 4 * frameBytes + 2048;
/** The number of unused buffers that are kept. */
const keptMax = 16;
/** Sixteen of the longest frames: a long answer takes fewer turns of the event loop. */
const longBytes = 16 * frameBytes + 2048;
/** The long buffers that may be in use, some of them by clients that do not read; more answers make do with shorter ones. */
const longInUseMax = 16;
const longKeptMax = 4;
/** A first frame of more bytes begins a long answer. */
const shortBytesMax = 8 * 1024;
/** Output up to this many bytes is copied, so that its buffer is free again. */
const copiedBytesMax = 8 * 1024;

export class OutBuffers {
  readonly #free: Buffer[] = [];
  readonly #freeLong: Buffer[] = [];
  #longInUse = 0;

  /** Returns a buffer for frames of which the first has `bytes`. */
  take(bytes: number): Buffer {
    const long = bytes > shortBytesMax ? this.#takeLong() : undefined;
    return long ?? this.#free.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
  }

  /** Returns a longer buffer that has the first `bytes` of this one, which it takes back; `undefined` when there is none. */
  longer(buffer: Buffer, bytes: number): Buffer | undefined {
    const long = buffer.length < longBytes ? this.#takeLong() : undefined;
    if (long === undefined) return undefined;
    buffer.copy(long, 0, 0, bytes);
    this.give(buffer);
    return long;
  }

  #takeLong(): Buffer | undefined {
    if (this.#longInUse >= longInUseMax) return undefined;
    this.#longInUse++;
    return this.#freeLong.pop() ?? Buffer.allocUnsafeSlow(longBytes);
  }

  give(buffer: Buffer): void {
    if (buffer.length < longBytes) {
      if (this.#free.length < keptMax) this.#free.push(buffer);
      return;
    }
    this.#longInUse--;
    if (this.#freeLong.length < longKeptMax) this.#freeLong.push(buffer);
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
