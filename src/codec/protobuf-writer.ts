/** Writes protobuf fields and messages by number. Callers know the fields of each type. */
import { bigIntOf, type Int64 } from "#std/int64.ts";
import { bytesType, fixed64Type, varintType } from "./protobuf-reader.ts";

const startLength = 64 * 1024;
const nothing = Buffer.alloc(0);
/** The maximum length of a text that is written byte by byte. */
const shortMax = 48;
/** The maximum length of a buffer that is used again. */
const reusedMax = 1024 * 1024;

/**
 * Writes from the end to the beginning, so that the length of a message is known before its head is written and nothing
 * is copied twice. Callers write the last field first.
 *
 *     text 2 "b"                     ………………12 01 b
 *     text 1 "a"                     …………0a 01 a 12 01 b
 *     message 9 that wrote the two   …4a 06 0a 01 a 12 01 b
 */
export class ProtobufWriter {
  /** Memory from the first byte on: many writers never write. */
  #bytes = nothing;
  /** The index at which the written bytes begin. */
  #start = 0;

  /** The number of written bytes. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  /** Returns a copy of the written bytes. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#start));
  }

  /** Begins anew; memory for long messages is given back. */
  clear(): void {
    if (this.#bytes.length > reusedMax) this.#bytes = nothing;
    this.#start = this.#bytes.length;
  }

  text(number: number, value: string): void {
    const length = value.length <= shortMax ? this.#shortText(value) : this.#longText(value);
    this.head(number, length);
  }

  /** Writes a text byte by byte, which is faster than a call of the runtime. Returns its length in bytes. */
  #shortText(value: string): number {
    const { length } = value;
    this.#reserve(length);
    const bytes = this.#bytes;
    let at = this.#start;
    for (let i = length - 1; i >= 0; i--) {
      const unit = value.charCodeAt(i);
      if (unit > 0x7f) return this.#longText(value);
      bytes[--at] = unit;
    }
    this.#start = at;
    return length;
  }

  #longText(value: string): number {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#start -= length;
    this.#bytes.write(value, this.#start);
    return length;
  }

  /** Writes a message, whose content `write` writes. */
  message(number: number, write: () => void): void {
    const end = this.length;
    write();
    this.wrap(number, end);
  }

  /** Makes what has been written since there were `end` bytes the content of a field. */
  wrap(number: number, end: number): void {
    this.head(number, this.length - end);
  }

  /** Writes a field of bytes. */
  blob(number: number, bytes: Uint8Array): void {
    this.bytes(bytes);
    this.head(number, bytes.length);
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

  /** Writes a whole number; negative ones in the 64 bits of their two's complement. */
  integer(number: number, value: Int64): void {
    if (typeof value === "number" && value >= 0) this.#base128(value);
    else this.#longBase128(BigInt.asUintN(64, bigIntOf(value)));
    this.#base128(number * 8 + varintType);
  }

  double(number: number, value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#bytes.writeDoubleLE(value, this.#start);
    this.#base128(number * 8 + fixed64Type);
  }

  /** Writes the head of a field, whose content of `length` bytes follows. */
  head(number: number, length: number): void {
    this.#base128(length);
    this.#base128(number * 8 + bytesType);
  }

  #base128(value: number): void {
    if (value <= 0x7f) {
      if (this.#start === 0) this.#reserve(1);
      this.#bytes[--this.#start] = value;
      return;
    }
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

  #longBase128(value: bigint): void {
    if (value <= Number.MAX_SAFE_INTEGER) return this.#base128(Number(value));
    const low = Number(value & 0x7fn);
    this.#longBase128(value >> 7n);
    // The low group stands before the others.
    this.#reserve(1);
    this.#bytes[--this.#start] = low + 128;
  }

  #reserve(count: number): void {
    if (count <= this.#start) return;
    const written = this.length;
    const larger = Buffer.allocUnsafe(Math.max(startLength, this.#bytes.length * 2 + count));
    this.#bytes.copy(larger, larger.length - written, this.#start);
    this.#bytes = larger;
    this.#start = larger.length - written;
  }
}
