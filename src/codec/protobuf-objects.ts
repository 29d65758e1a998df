/**
 * Counts the messages of a protobuf body before it is decoded, without its schema: every length-delimited value is
 * tried as a message. The counter reads each byte about once, and throws nothing, since most such values are texts.
 */
import { bytesType, fixed32Type, fixed64Type, varintType } from "./protobuf-reader.ts";

/** The maximum nesting of the objects that are counted. `protobuf.ts` refuses deeper ones. */
const depthMax = 400;

/**
 * Returns the number of messages among the fields of a message, itself included. Text that could be a message counts as
 * one.
 */
export function messagesIn(bytes: Uint8Array, from = 0): number {
  return new Counter(bytes).messages(from, bytes.length, 0);
}

class Counter {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /**
   * Counts the objects within a range of bytes. All objects before a mistake count: they are decoded before the body is
   * refused.
   */
  messages(from: number, end: number, depth: number): number {
    let count = 0;
    this.#at = from;
    while (this.#at < end) {
      const tag = this.#varint(end);
      if (tag < 8) return count;
      let length = 0;
      switch (tag & 7) {
        case varintType:
          if (this.#varint(end) < 0) return count;
          break;
        case fixed64Type:
          length = 8;
          break;
        case fixed32Type:
          length = 4;
          break;
        case bytesType:
          length = this.#varint(end);
          break;
        default:
          return count;
      }
      const start = this.#at;
      if (length < 0 || length > end - start) return count;
      if ((tag & 7) === bytesType && depth < depthMax) count += this.messages(start, start + length, depth + 1);
      this.#at = start + length;
    }
    return count + 1;
  }

  /** Reads a number, cut to 32 bits; returns -1 if there is none. */
  #varint(end: number): number {
    let value = 0;
    for (let shift = 0; this.#at < end && shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++]!;
      if (shift < 28) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return -1;
  }
}
