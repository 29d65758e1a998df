/**
 * Protobuf request bodies of built-in kinds: the envelope upstream's clients send, and messages decoded by the numbers
 * in the schema into the JSON form of the object, which then goes the way every other body goes. Answers are not
 * written in protobuf yet. Source of the form: upstream's `serializer/protobuf` and `generated.proto`.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { rawNumber } from "#std/raw-number.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";

export interface ProtobufBody {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object in its JSON form, not canonical yet. */
  readonly value: unknown;
}

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const depthMax = 100;
const shownBytes = 30;

/** Decodes an enveloped object. Throws `DecodeError` for what is none. */
export function decodeProtobuf(bytes: Uint8Array, schema: Schema): ProtobufBody {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length < magic.length || !all.subarray(0, magic.length).equals(magic)) {
    throw new DecodeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  if (all.length === magic.length) throw new DecodeError("empty body");
  let apiVersion = "";
  let kind = "";
  let raw: Buffer = all.subarray(0, 0);
  for (const { number, bytes: field } of fieldsOf(all.subarray(magic.length))) {
    if (number === 2) raw = need(field);
    if (number !== 1) continue;
    for (const inner of fieldsOf(need(field))) {
      if (inner.number === 1) apiVersion = text(need(inner.bytes));
      if (inner.number === 2) kind = text(need(inner.bytes));
    }
  }
  return { apiVersion, kind, value: message(schema, raw, 0) };
}

/** One field as it stands in the bytes: a length-delimited one has `bytes`, any other `scalar`. */
interface WireField {
  readonly number: number;
  readonly bytes: Buffer | undefined;
  readonly scalar: bigint;
  /** Of 64-bit fields: where the eight bytes are. */
  readonly fixed: Buffer | undefined;
}

const truncated = (): DecodeError => new DecodeError("unexpected EOF");

function* fieldsOf(bytes: Buffer): Generator<WireField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw truncated();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new DecodeError("proto: integer overflow");
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw truncated();
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    if (number < 1) throw new DecodeError(`proto: illegal tag ${number} (wire type ${tag % 8})`);
    switch (tag % 8) {
      case 0:
        yield { number, bytes: undefined, scalar: varint(), fixed: undefined };
        break;
      case 1:
        yield { number, bytes: undefined, scalar: 0n, fixed: take(8) };
        break;
      case 2: {
        const length = varint();
        if (length > BigInt(bytes.length)) throw truncated();
        yield { number, bytes: take(Number(length)), scalar: 0n, fixed: undefined };
        break;
      }
      case 5:
        yield { number, bytes: undefined, scalar: 0n, fixed: take(4) };
        break;
      default:
        throw new DecodeError(`proto: illegal wireType ${tag % 8}`);
    }
  }
}

function need(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new DecodeError("proto: wrong wireType");
  return bytes;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function text(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new DecodeError("proto: string field contains invalid UTF-8", { cause });
  }
}

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

function message(schema: Schema, bytes: Buffer, depth: number): Json {
  const out: Json = {};
  fill(out, placesOf(schema), bytes, depth);
  return out;
}

function fill(out: Json, numbers: ReadonlyMap<number, Place>, bytes: Buffer, depth: number): void {
  if (depth > depthMax) throw new DecodeError("exceeded max depth");
  for (const wire of fieldsOf(bytes)) {
    const place = numbers.get(wire.number);
    if (place === undefined) continue;
    if (place.through !== undefined) fill(out, place.through, need(wire.bytes), depth + 1);
    else add(out, place.name, place.field!.schema, wire, depth);
  }
}

function add(out: Json, name: string, schema: Schema, wire: WireField, depth: number): void {
  if (schema.special !== undefined) {
    out[name] = special(schema.special, need(wire.bytes));
  } else if (schema.type === "array") {
    const list = (out[name] ??= []) as unknown[]; // only lists are put there
    const items = schema.items!;
    if (wire.bytes !== undefined && isScalar(items)) list.push(...packed(items, wire.bytes));
    else list.push(one(items, wire, depth + 1));
  } else if (schema.type === "map") {
    const map = (out[name] ??= {}) as Json; // only maps are put there
    entry(map, schema.items!, need(wire.bytes), depth + 1);
  } else {
    out[name] = one(schema, wire, depth + 1);
  }
}

const isScalar = ({ type, special: form }: Schema): boolean =>
  form === undefined && (type === "integer" || type === "number" || type === "boolean");

function one(schema: Schema, wire: WireField, depth: number): unknown {
  if (schema.special !== undefined) return special(schema.special, need(wire.bytes));
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? need(wire.bytes).toString("base64") : text(need(wire.bytes));
    case "boolean":
      return wire.scalar !== 0n;
    case "integer":
      return integer(wire.scalar);
    case "number":
      return float(wire.fixed);
    case "object":
      return message(schema, need(wire.bytes), depth);
    case "array": {
      // Lists inside of maps are wrapped in a message whose only field repeats.
      const list: Json = {};
      for (const inner of fieldsOf(need(wire.bytes))) if (inner.number === 1) add(list, "items", schema, inner, depth);
      return list["items"] ?? [];
    }
    default:
      throw new DecodeError("proto: the type has no protobuf form here");
  }
}

function integer(scalar: bigint): unknown {
  const value = BigInt.asIntN(64, scalar);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : rawNumber(String(value));
}

function float(fixed: Buffer | undefined): number {
  const bytes = need(fixed);
  return bytes.length === 8 ? bytes.readDoubleLE() : bytes.readFloatLE();
}

function* packed(items: Schema, bytes: Buffer): Generator<unknown> {
  if (items.type === "number") {
    for (let at = 0; at + 8 <= bytes.length; at += 8) yield bytes.readDoubleLE(at);
    return;
  }
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    while (at < bytes.length && bytes[at]! >= 0x80) at++;
    at++;
    if (at > bytes.length || at - start > 10) throw truncated();
    let value = 0n;
    for (let i = at - 1; i >= start; i--) value = (value << 7n) | BigInt(bytes[i]! & 0x7f);
    yield items.type === "boolean" ? value !== 0n : integer(value);
  }
}

function entry(map: Json, items: Schema, bytes: Buffer, depth: number): void {
  let key = "";
  let value: unknown = items.special === undefined && items.type === "string" ? "" : undefined;
  for (const wire of fieldsOf(bytes)) {
    if (wire.number === 1) key = text(need(wire.bytes));
    if (wire.number === 2) value = one(items, wire, depth);
  }
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}

/** JSON form of a type whose message says something else than its fields. */
function special(form: SpecialType, bytes: Buffer): unknown {
  const fields = new Map<number, WireField>();
  for (const wire of fieldsOf(bytes)) fields.set(wire.number, wire);
  const scalar = (number: number): bigint => BigInt.asIntN(64, fields.get(number)?.scalar ?? 0n);
  const embedded = (number: number): Buffer => need(fields.get(number)?.bytes ?? Buffer.alloc(0));
  switch (form) {
    case "time":
      return fields.size === 0 ? null : timeText(scalar(1), 0n);
    case "microTime":
      return fields.size === 0 ? null : timeText(scalar(1), scalar(2));
    case "duration":
      return `${scalar(1)}ns`;
    case "quantity":
      return text(embedded(1));
    case "intOrString":
      return scalar(1) === 0n ? integer(scalar(2)) : text(embedded(3));
    case "rawExtension":
    case "fieldsV1":
    case "json":
      return json(embedded(1));
    default:
      throw new DecodeError(`proto: ${form} has no protobuf form here`);
  }
}

/** Seconds of year 1 and of year 10000; what lies outside cannot be written. */
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_800n;

function timeText(seconds: bigint, nanos: bigint): string {
  if (seconds < secondsMin || seconds >= secondsMax || nanos < 0n || nanos >= 1_000_000_000n) {
    throw new DecodeError("proto: time out of range");
  }
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return nanos === 0n ? `${whole}Z` : `${whole}.${String(nanos / 1000n).padStart(6, "0")}Z`;
}

function json(bytes: Buffer): unknown {
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(text(bytes));
  } catch (cause) {
    const head = bytes.subarray(0, shownBytes).toString("hex");
    throw new DecodeError(`proto: embedded value is not JSON (${head})`, { cause });
  }
}
