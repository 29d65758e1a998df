/** Writes protobuf fields and messages by number. Callers know the fields of each type. */
import { bytesType, fixed64Type, varintType } from "./protobuf-reader.ts";

/**
 * Writes from the end to the beginning, so that the length of a message is known before its head is written and nothing
 * is copied twice. Callers write the last field first.
 *
 *     text 2 "b"                     ………………12 01 b
 *     text 1 "a"                     …………0a 01 a 12 01 b
 *     message 9 that wrote the two   …4a 06 0a 01 a 12 01 b
 */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  /** The index at which the written bytes begin. */
  #start = this.#bytes.length;

  /** The number of written bytes. */
  get #length(): number {
    return this.#bytes.length - this.#start;
  }

  /** Returns a copy of the written bytes. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#start));
  }

  text(number: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#start -= length;
    this.#bytes.write(value, this.#start);
    this.#head(number, length);
  }

  /** Writes a message, whose content `write` writes. */
  message(number: number, write: () => void): void {
    const before = this.#length;
    write();
    this.#head(number, this.#length - before);
  }

  /** Writes bytes that are not a field. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#start -= bytes.length;
    this.#bytes.set(bytes, this.#start);
  }

  /** Writes a whole number that is not negative, or a boolean as 0 or 1. */
  varint(number: number, value: number): void {
    this.#base128(value);
    this.#base128(number * 8 + varintType);
  }

  double(number: number, value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#bytes.writeDoubleLE(value, this.#start);
    this.#base128(number * 8 + fixed64Type);
  }

  /** Writes the head of a field whose content is the last `length` bytes written. */
  #head(number: number, length: number): void {
    this.#base128(length);
    this.#base128(number * 8 + bytesType);
  }

  #base128(value: number): void {
    let length = 1;
    for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) length++;
    this.#reserve(length);
    this.#start -= length;
    let rest = value;
    for (let i = 0; i < length; i++) {
      this.#bytes[this.#start + i] = (rest % 128) + (i === length - 1 ? 0 : 128);
      rest = Math.floor(rest / 128);
    }
  }

  #reserve(count: number): void {
    if (count <= this.#start) return;
    const written = this.#length;
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2 + count);
    this.#bytes.copy(larger, larger.length - written, this.#start);
    this.#bytes = larger;
    this.#start = larger.length - written;
  }
}
