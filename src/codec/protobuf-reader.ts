/** Reads the fields of protobuf messages. `protobuf.ts` gives them their meaning. */
import { DecodeError } from "#schema/decode-error.ts";

/** The wire types, which are the encodings of values. */
export const varintType = 0;
export const fixed64Type = 1;
export const bytesType = 2;
export const fixed32Type = 5;

const unexpectedEof = (): DecodeError => new DecodeError("unexpected EOF");
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads the fields of one message in their order. After each `next`, the caller calls exactly one other method, which
 * reads the value.
 */
export class ProtobufReader {
  /** The number of the current field; `type` is its wire type. */
  number = 0;
  type = 0;
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, from: number, end: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  /** Goes on to the next field. Returns false at the end. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = Number(this.#varint());
    this.number = Math.floor(tag / 8);
    this.type = tag % 8;
    if (this.number < 1) throw new DecodeError(`proto: illegal tag ${this.number} (wire type ${this.type})`);
    return true;
  }

  skip(): void {
    if (this.type === varintType) this.#varint();
    else if (this.type === bytesType) this.#take(this.#length());
    else if (this.type === fixed64Type) this.#take(8);
    else if (this.type === fixed32Type) this.#take(4);
    else throw new DecodeError(`proto: illegal wireType ${this.type}`);
  }

  /** Returns a reader of the value, which is a message. */
  message(): ProtobufReader {
    this.#need(bytesType);
    const length = this.#length();
    const from = this.#take(length);
    return new ProtobufReader(this.#bytes, from, from + length);
  }

  text(): string {
    this.#need(bytesType);
    const length = this.#length();
    const from = this.#take(length);
    try {
      return utf8.decode(this.#bytes.subarray(from, from + length));
    } catch (cause) {
      throw new DecodeError("proto: string field contains invalid UTF-8", { cause });
    }
  }

  bytes(): Buffer {
    this.#need(bytesType);
    const length = this.#length();
    const from = this.#take(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** Reads a signed integer of 64 bits. */
  integer(): number | bigint {
    this.#need(varintType);
    return this.#signed();
  }

  double(): number {
    this.#need(fixed64Type);
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  /** Returns a reader of the parts of a packed list, which has all its scalars in one value. */
  packed(): PackedReader {
    const inner = this.message();
    return {
      isAtEnd: () => inner.#at >= inner.#end,
      integer: () => inner.#signed(),
      double: () => inner.#bytes.readDoubleLE(inner.#take(8)),
    };
  }

  #need(type: number): void {
    if (this.type !== type) throw new DecodeError(`proto: wrong wireType = ${this.type} for field ${this.number}`);
  }

  #signed(): number | bigint {
    const value = this.#varint();
    if (typeof value === "number") return value;
    const signed = BigInt.asIntN(64, value);
    const number = Number(signed);
    return Number.isSafeInteger(number) ? number : signed;
  }

  #length(): number {
    const length = Number(this.#varint());
    if (length > this.#end - this.#at) throw unexpectedEof();
    return length;
  }

  /** Returns the offset of the next `length` bytes and moves after them. Throws if there are fewer. */
  #take(length: number): number {
    const from = this.#at;
    if (length > this.#end - from) throw unexpectedEof();
    this.#at = from + length;
    return from;
  }

  /** Reads an unsigned integer of 64 bits; a number if it is small, else a `bigint`. */
  #varint(): number | bigint {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.#at >= this.#end) throw unexpectedEof();
      const byte = this.#bytes[this.#at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    let large = BigInt(value);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      if (this.#at >= this.#end) throw unexpectedEof();
      const byte = this.#bytes[this.#at++]!;
      large |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, large);
    }
    throw new DecodeError("proto: integer overflow");
  }
}

/** Reads the parts of a packed list in order. */
type PackedReader = Pick<ProtobufReader, "integer" | "double"> & { isAtEnd(): boolean };
