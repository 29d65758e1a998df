/**
 * Writes JSON values as CBOR (RFC 8949), in the form of Kubernetes: texts and keys are byte strings, numbers have their
 * shortest form, and the bytes of built-in kinds follow a tag that says that they are base64 in JSON.
 */
import type { Schema } from "#schema/schema.ts";
import { isInt64 } from "#std/int64.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { array, byteString, map, negative, positive, selfDescribedTag, tag } from "./cbor-items.ts";

const startLength = 16 * 1024;
/** The maximum length of a buffer that is used again. */
const reusedMax = 1024 * 1024;
/** The maximum length of a text that is written byte by byte. */
const shortMax = 48;

const base64Tag = 22;
const falseByte = 0xf4;
const trueByte = 0xf5;
const nullByte = 0xf6;
const halfByte = 0xf9;
const singleByte = 0xfa;
const doubleByte = 0xfb;

export class CborWriter {
  /** The memory, which is there when the first value is written. */
  #bytes = Buffer.alloc(0);
  #at = 0;

  /** Returns a copy of the written bytes, and begins anew. */
  finish(): Buffer {
    const copy = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.clear();
    return copy;
  }

  /** Begins anew; memory for long values is given back. */
  clear(): void {
    if (this.#bytes.length > reusedMax) this.#bytes = Buffer.alloc(0);
    this.#at = 0;
  }

  /** Writes the tag that objects, lists and events begin with. */
  selfDescribed(): void {
    this.#head(tag, selfDescribedTag);
  }

  mapHead(pairs: number): void {
    this.#head(map, pairs);
  }

  arrayHead(items: number): void {
    this.#head(array, items);
  }

  text(value: string): void {
    const { length } = value;
    if (length > shortMax) return this.#longText(value);
    this.#reserve(length + 9);
    const bytes = this.#bytes;
    // Texts of this length have a head of one or two bytes.
    const start = this.#at + (length < 24 ? 1 : 2);
    for (let i = 0; i < length; i++) {
      const unit = value.charCodeAt(i);
      if (unit > 0x7f) return this.#longText(value);
      bytes[start + i] = unit;
    }
    this.#head(byteString, length);
    this.#at += length;
  }

  /**
   * Writes a value. `schema` is its type, by which bytes are recognized. Throws the runtime's `RangeError` (`isTooDeep`)
   * if the value is nested deeper than the stack.
   */
  value(value: unknown, schema?: Schema): void {
    switch (typeof value) {
      case "string":
        if (schema?.format === "byte" && schema.type === "string") this.#base64(value);
        else this.text(value);
        break;
      case "number":
        this.#number(value);
        break;
      case "boolean":
        this.#byte(value ? trueByte : falseByte);
        break;
      case "object":
        if (value !== null) this.#container(value, schema);
        else this.#byte(nullByte);
        break;
      default:
        this.#byte(nullByte);
    }
  }

  /** Writes the members of an object whose head was written. */
  members(object: Readonly<Record<string, unknown>>, schema?: Schema): void {
    const fields = schema?.fields;
    const items = schema?.type === "map" ? schema.items : undefined;
    for (const name in object) {
      const member = object[name];
      if (member === undefined) continue;
      this.text(name);
      this.value(member, fields === undefined ? items : fields.get(name)?.schema);
    }
  }

  #container(value: object, schema: Schema | undefined): void {
    if (isRawNumber(value)) return this.#literal(value.rawJSON);
    // Types without bytes are written without their schemas.
    const type = schema !== undefined && containsBytes(schema) ? schema : undefined;
    if (Array.isArray(value)) {
      this.arrayHead(value.length);
      for (const item of value as readonly unknown[]) this.value(item, type?.items);
      return;
    }
    const object = value as Readonly<Record<string, unknown>>; // it is neither a list nor a number
    this.mapHead(pairsOf(object));
    this.members(object, type);
  }

  #literal(literal: string): void {
    if (!isInt64(literal)) return this.#float(Number(literal));
    const value = BigInt(literal);
    this.#head(value < 0n ? negative : positive, value < 0n ? -1n - value : value);
  }

  #number(value: number): void {
    if (!Number.isInteger(value)) return this.#float(value);
    if (!Number.isSafeInteger(value)) {
      const exact = BigInt(value);
      return BigInt.asIntN(64, exact) === exact ? this.#literal(String(exact)) : this.#float(value);
    }
    this.#head(value < 0 ? negative : positive, value < 0 ? -1 - value : value);
  }

  #float(value: number): void {
    this.#reserve(9);
    const bytes = this.#bytes;
    if (Math.f16round(value) === value) {
      bytes[this.#at] = halfByte;
      new DataView(bytes.buffer, bytes.byteOffset + this.#at + 1, 2).setFloat16(0, value);
      this.#at += 3;
    } else if (Math.fround(value) === value) {
      bytes[this.#at] = singleByte;
      this.#at = bytes.writeFloatBE(value, this.#at + 1);
    } else {
      bytes[this.#at] = doubleByte;
      this.#at = bytes.writeDoubleBE(value, this.#at + 1);
    }
  }

  #base64(value: string): void {
    const bytes = Buffer.from(value, "base64");
    this.#head(tag, base64Tag);
    this.#head(byteString, bytes.length);
    this.#reserve(bytes.length);
    this.#at += bytes.copy(this.#bytes, this.#at);
  }

  #longText(value: string): void {
    const length = Buffer.byteLength(value);
    this.#head(byteString, length);
    this.#reserve(length);
    this.#at += this.#bytes.write(value, this.#at);
  }

  #head(major: number, argument: number | bigint): void {
    this.#reserve(9);
    const bytes = this.#bytes;
    const first = major << 5;
    if (argument < 24) bytes[this.#at++] = first | Number(argument);
    else if (argument < 0x100) {
      bytes[this.#at++] = first | 24;
      bytes[this.#at++] = Number(argument);
    } else if (argument < 0x1_0000) {
      bytes[this.#at] = first | 25;
      this.#at = bytes.writeUInt16BE(Number(argument), this.#at + 1);
    } else if (argument < 0x1_0000_0000) {
      bytes[this.#at] = first | 26;
      this.#at = bytes.writeUInt32BE(Number(argument), this.#at + 1);
    } else {
      bytes[this.#at] = first | 27;
      this.#at = bytes.writeBigUInt64BE(BigInt(argument), this.#at + 1);
    }
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** Makes room for so many bytes. */
  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const bytes = Buffer.allocUnsafe(Math.max(startLength, 2 * this.#bytes.length, this.#at + length));
    this.#bytes.copy(bytes, 0, 0, this.#at);
    this.#bytes = bytes;
  }
}

/** Returns the number of members that are written. */
export function pairsOf(object: Readonly<Record<string, unknown>>): number {
  let pairs = 0;
  for (const name in object) if (object[name] !== undefined) pairs++;
  return pairs;
}

const knownTypes = new WeakMap<Schema, boolean>();

/** Whether values of this type may contain bytes. */
function containsBytes(schema: Schema): boolean {
  if (schema.type === "string") return schema.format === "byte";
  const isKnown = knownTypes.get(schema);
  if (isKnown !== undefined) return isKnown;
  // A type that contains itself has no bytes by that alone.
  knownTypes.set(schema, false);
  let found = schema.items !== undefined && containsBytes(schema.items);
  for (const { schema: field } of schema.fields?.values() ?? []) found ||= containsBytes(field);
  knownTypes.set(schema, found);
  return found;
}
