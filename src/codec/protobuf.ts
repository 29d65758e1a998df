/**
 * Protobuf request bodies of built-in kinds: the envelope upstream's clients send, and messages decoded by the numbers
 * in the schema into the JSON form of the object, which then goes the way every other body goes. Answers are not
 * written in protobuf yet. Source of the form: upstream's `serializer/protobuf` and `generated.proto`.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { formatTime } from "#meta/time.ts";
import { rawNumber } from "#std/raw-number.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { decodeJson } from "./json.ts";

export interface ProtobufBody {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object in its JSON form, not canonical yet. */
  readonly value: unknown;
}

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
/** Messages inside of messages; a property of a schema is two of them. */
const depthMax = 400;

/** Decodes an enveloped object. Throws `DecodeError` for what is none. */
export function decodeProtobuf(bytes: Uint8Array, schema: Schema): ProtobufBody {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length < magic.length || !all.subarray(0, magic.length).equals(magic)) {
    throw new DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  if (all.length === magic.length) throw new DecodeError("empty body");
  let apiVersion = "";
  let kind = "";
  let raw = new Reader(all, 0, 0);
  for (const reader = new Reader(all, magic.length, all.length); reader.next(); ) {
    if (reader.number === 1) {
      for (const inner = reader.message(); inner.next(); ) {
        if (inner.number === 1) apiVersion = inner.text();
        else if (inner.number === 2) kind = inner.text();
        else inner.skip();
      }
    } else if (reader.number === 2) raw = reader.message();
    else reader.skip();
  }
  return { apiVersion, kind, value: message(schema, raw, {}, 0) };
}

const truncated = (): DecodeError => new DecodeError("unexpected EOF");
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Wire types: how a value stands in the bytes. */
const varintType = 0;
const fixed64Type = 1;
const bytesType = 2;
const fixed32Type = 5;

/** Reads the fields of one message in their order. After `next`, exactly one of the other methods takes the value. */
class Reader {
  /** Of the present field. */
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

  /** Goes on to the next field; false at the end. */
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

  /** The value as a message of its own. */
  message(): Reader {
    this.#need(bytesType);
    const length = this.#length();
    const from = this.#take(length);
    return new Reader(this.#bytes, from, from + length);
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

  /** A signed integer of 64 bits. */
  integer(): number | bigint {
    this.#need(varintType);
    return this.#signed();
  }

  double(): number {
    this.#need(fixed64Type);
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  /** A list of scalars in one value: the reader of its parts. */
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
    if (length > this.#end - this.#at) throw truncated();
    return length;
  }

  /** Where the next bytes begin, of which there are enough. */
  #take(length: number): number {
    const from = this.#at;
    if (length > this.#end - from) throw truncated();
    this.#at = from + length;
    return from;
  }

  /** An unsigned integer of 64 bits; a number when it is small. */
  #varint(): number | bigint {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.#at >= this.#end) throw truncated();
      const byte = this.#bytes[this.#at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    let large = BigInt(value);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      if (this.#at >= this.#end) throw truncated();
      const byte = this.#bytes[this.#at++]!;
      large |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, large);
    }
    throw new DecodeError("proto: integer overflow");
  }
}

type PackedReader = Pick<Reader, "integer" | "double"> & { isAtEnd(): boolean };

/** Where a field number leads: to a field of the object, or through a message that JSON does not show. */
interface Place {
  readonly name: string;
  readonly field: Field | undefined;
  readonly through: ReadonlyMap<number, Place> | undefined;
}

const places = new WeakMap<Schema, ReadonlyMap<number, Place>>();

function placesOf(schema: Schema): ReadonlyMap<number, Place> {
  let known = places.get(schema);
  if (known === undefined) {
    known = collectPlaces(schema);
    places.set(schema, known);
  }
  return known;
}

function collectPlaces(schema: Schema): ReadonlyMap<number, Place> {
  const root = new Map<number, Place>();
  for (const [name, field] of schema.fields ?? []) {
    if (field.proto === undefined) continue;
    let level = root;
    for (const [number] of field.protoIn ?? []) {
      const through = (level.get(number)?.through ?? new Map<number, Place>()) as Map<number, Place>; // made here
      level.set(number, { name: "", field: undefined, through });
      level = through;
    }
    level.set(field.proto[0], { name, field, through: undefined });
  }
  return root;
}

type Json = Record<string, unknown>;

/** The fields of a message, added to those that `out` has: a message may come in several parts. */
function message(schema: Schema, reader: Reader, out: Json, depth: number): Json {
  fill(out, placesOf(schema), reader, depth);
  return out;
}

function fill(out: Json, numbers: ReadonlyMap<number, Place>, reader: Reader, depth: number): void {
  if (depth > depthMax) throw new DecodeError("exceeded max depth");
  while (reader.next()) {
    const place = numbers.get(reader.number);
    if (place === undefined) reader.skip();
    else if (place.through !== undefined) fill(out, place.through, reader.message(), depth + 1);
    else add(out, place.name, place.field!.schema, reader, depth);
  }
}

function add(out: Json, name: string, schema: Schema, reader: Reader, depth: number): void {
  if (schema.special === undefined && schema.type === "array") {
    const list = (out[name] ??= []) as unknown[]; // only lists are put there
    const items = schema.items!;
    if (reader.type !== bytesType || !isScalar(items)) list.push(one(items, reader, depth + 1));
    else for (const part = reader.packed(); !part.isAtEnd(); ) list.push(scalar(items, part));
  } else if (schema.special === undefined && schema.type === "map") {
    const map = (out[name] ??= {}) as Json; // only maps are put there
    entry(map, schema.items!, reader.message(), depth + 1);
  } else {
    out[name] = one(schema, reader, depth + 1, out[name]);
  }
}

const isScalar = ({ type, special: form }: Schema): boolean =>
  form === undefined && (type === "integer" || type === "number" || type === "boolean");

/** One value; `before` is what an earlier part of the message said of it. */
function one(schema: Schema, reader: Reader, depth: number, before?: unknown): unknown {
  if (schema.special !== undefined) return special(schema, schema.special, reader.message(), depth);
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? reader.bytes().toString("base64") : reader.text();
    case "object":
      return message(schema, reader.message(), (before ?? {}) as Json, depth); // only messages are put there
    case "array": {
      // Lists inside of maps are wrapped in a message whose only field repeats.
      const list: Json = { items: [] };
      for (const inner = reader.message(); inner.next(); ) {
        if (inner.number === 1) add(list, "items", schema, inner, depth);
        else inner.skip();
      }
      return list["items"];
    }
    case "map":
    case "any":
      throw new DecodeError("proto: the type has no protobuf form");
    default:
      return scalar(schema, reader);
  }
}

function scalar(schema: Schema, reader: Pick<Reader, "integer" | "double">): unknown {
  if (schema.type === "number") return reader.double();
  const value = reader.integer();
  if (schema.type === "boolean") return Number(value) !== 0;
  if (schema.format === "int32") return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value | 0;
  return typeof value === "bigint" ? rawNumber(String(value)) : value;
}

/** A message whose fields are not set. */
const nothing = Buffer.from([bytesType + 8, 0]);

function entry(map: Json, items: Schema, reader: Reader, depth: number): void {
  let key = "";
  let value: unknown;
  while (reader.next()) {
    if (reader.number === 1) key = reader.text();
    else if (reader.number === 2) value = one(items, reader, depth);
    else reader.skip();
  }
  if (value === undefined) {
    const none = new Reader(nothing, 0, nothing.length);
    none.next();
    value = isScalar(items) ? (items.type === "boolean" ? false : 0) : one(items, none, depth);
  }
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}

/** JSON form of a type whose message says something else than its fields. */
function special(schema: Schema, form: SpecialType, reader: Reader, depth: number): unknown {
  switch (form) {
    case "time":
    case "microTime":
      return time(form, reader);
    case "duration":
      return `${integerField(reader)}ns`;
    case "quantity": {
      let text = "";
      while (reader.next()) {
        if (reader.number === 1) text = reader.text();
        else reader.skip();
      }
      return text;
    }
    case "intOrString":
      return intOrString(reader);
    case "rawExtension":
    case "fieldsV1":
    case "json":
      return embeddedJson(reader);
    default:
      return schemaOr(form, schema.items!, reader, depth);
  }
}

/** The first field, an integer. */
function integerField(reader: Reader): number | bigint {
  let value: number | bigint = 0;
  while (reader.next()) {
    if (reader.number === 1) value = reader.integer();
    else reader.skip();
  }
  return value;
}

function intOrString(reader: Reader): unknown {
  let isText = false;
  let number: unknown = 0;
  let text = "";
  while (reader.next()) {
    if (reader.number === 1) isText = Number(reader.integer()) !== 0;
    else if (reader.number === 2) number = scalar({ type: "integer", format: "int32" }, reader);
    else if (reader.number === 3) text = reader.text();
    else reader.skip();
  }
  return isText ? text : number;
}

/**
 * What may be a schema or something simpler, in the shortest form, as upstream's types write it: a list if it has
 * items, then the schema, then the rest. `items` is the schema of schemas.
 */
function schemaOr(form: SpecialType, items: Schema, reader: Reader, depth: number): unknown {
  let schema: Json | undefined;
  let allows = false;
  const list: unknown[] = [];
  const [schemaNumber, otherNumber] = form === "schemaOrBool" ? [2, 1] : [1, 2];
  while (reader.next()) {
    if (reader.number === schemaNumber) schema = message(items, reader.message(), schema ?? {}, depth + 1);
    else if (reader.number !== otherNumber) reader.skip();
    else if (form === "schemaOrBool") allows = Number(reader.integer()) !== 0;
    else if (form === "schemaOrStringArray") list.push(reader.text());
    else list.push(message(items, reader.message(), {}, depth + 1));
  }
  if (list.length > 0) return list;
  return schema ?? (form === "schemaOrBool" ? allows : null);
}

/** Seconds of year 1 and of year 10000; what lies outside cannot be written. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_800;

/** Seconds and nanoseconds; a message that says nothing is no time. */
function time(form: "time" | "microTime", reader: Reader): string | null {
  let seconds = 0;
  let nanos = 0;
  let isEmpty = true;
  while (reader.next()) {
    isEmpty = false;
    if (reader.number === 1) seconds = Number(reader.integer());
    else if (reader.number === 2) nanos = Number(reader.integer());
    else reader.skip();
  }
  if (isEmpty) return null;
  if (seconds < secondsMin || seconds >= secondsMax || nanos < 0 || nanos >= 1_000_000_000) {
    throw new DecodeError("proto: time out of range");
  }
  return formatTime({ seconds, nanos }, form === "time" ? "seconds" : "micro");
}

/** JSON as bytes in the first field. */
function embeddedJson(reader: Reader): unknown {
  let bytes: Buffer | undefined;
  while (reader.next()) {
    if (reader.number === 1) bytes = reader.bytes();
    else reader.skip();
  }
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    return decodeJson(bytes).value;
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new DecodeError(`proto: embedded value is not JSON: ${cause.message}`, { cause });
  }
}
