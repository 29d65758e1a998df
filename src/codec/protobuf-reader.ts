/** Reads the fields of protobuf messages. `protobuf.ts` gives them their meaning. */
import { DecodeError } from "#schema/decode-error.ts";

/** The wire types, which are the encodings of values. */
export const varintType = 0;
export const fixed64Type = 1;
export const bytesType = 2;
export const fixed32Type = 5;

/** Wire types of the deprecated groups, which surround fields. Only `skip` takes them. */
const groupType = 3;
const groupEndType = 4;

const unexpectedEof = (): DecodeError => new DecodeError("unexpected EOF");
const negativeLength = (): DecodeError => new DecodeError("proto: negative length found during unmarshaling");

/**
 * Reads the fields of one message in their order. After each `next`, the caller calls exactly one other method, which
 * reads the value. Messages of errors are those of upstream's generated code.
 */
export class ProtobufReader {
  /** The name of the message in errors, behind its last point: `io.k8s.api.core.v1.Pod`. */
  name = "";
  /** The number of the current field; `type` is its wire type, which a caller may replace. */
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
    if (!this.nextInEntry()) return false;
    if (this.number < 1 || this.type === groupEndType) throw this.#illegalTag();
    return true;
  }

  /** Goes on to the next field in an entry of a map, where upstream takes every tag. Returns false at the end. */
  nextInEntry(): boolean {
    if (this.#at >= this.#end) return false;
    this.#readTag();
    return true;
  }

  #readTag(): void {
    const tag = this.#varint();
    if (typeof tag === "number") {
      this.number = tag >>> 3;
      this.type = tag & 7;
    } else {
      this.number = Number(BigInt.asIntN(32, tag >> 3n));
      this.type = Number(tag & 7n);
    }
  }

  #illegalTag(): DecodeError {
    const message = this.name === "" ? "" : `${this.name.slice(this.name.lastIndexOf(".") + 1)}: `;
    if (this.type === groupEndType) return new DecodeError(`proto: ${message}wiretype end group for non-group`);
    return new DecodeError(`proto: ${message}illegal tag ${this.number} (wire type ${this.type})`);
  }

  skip(): void {
    for (let depth = 0; ; this.#readTag()) {
      if (this.type === varintType) this.#varint();
      else if (this.type === bytesType) this.#take(this.#length());
      else if (this.type === fixed64Type) this.#take(8);
      else if (this.type === fixed32Type) this.#take(4);
      else if (this.type === groupType) depth++;
      else if (this.type !== groupEndType) throw new DecodeError(`proto: illegal wireType ${this.type}`);
      else if (depth-- === 0) throw new DecodeError("proto: unexpected end of group");
      if (depth === 0) return;
    }
  }

  /** Returns a reader of the value, which is a message. `field` is the name of the field in errors, here and below. */
  message(field?: string): ProtobufReader {
    this.#need(bytesType, field);
    const length = this.#length();
    const from = this.#take(length);
    return new ProtobufReader(this.#bytes, from, from + length);
  }

  text(field?: string): string {
    this.#need(bytesType, field);
    const length = this.#length();
    const from = this.#take(length);
    // Bytes that are no UTF-8 become U+FFFD, as they do in JSON.
    return this.#bytes.toString("utf8", from, from + length);
  }

  bytes(): Buffer {
    this.#need(bytesType);
    const length = this.#length();
    const from = this.#take(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** Reads a signed integer of 64 bits. */
  integer(field?: string): number | bigint {
    this.#need(varintType, field);
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

  #need(type: number, field: string | number = this.number): void {
    if (this.type !== type) throw new DecodeError(`proto: wrong wireType = ${this.type} for field ${field}`);
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
    if (length <= this.#end - this.#at) return length;
    throw length + this.#at >= 2 ** 63 ? negativeLength() : unexpectedEof();
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
