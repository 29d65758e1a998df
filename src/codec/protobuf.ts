/**
 * Protobuf bodies of built-in kinds: messages are decoded by the field numbers of the schema into the JSON form of the
 * object, which is then processed like every other body. Source of the format: upstream's `generated.proto`.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { wrongQuantityFormat } from "#meta/quantity.ts";
import { formatTime } from "#meta/time.ts";
import { rawNumber } from "#std/raw-number.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { setKey } from "#schema/json-values.ts";
import { decodeJson } from "./json.ts";
import { readEnvelope } from "./protobuf-envelope.ts";
import { goFieldName } from "./protobuf-names.ts";
import { bytesType, fixed64Type, ProtobufReader, varintType } from "./protobuf-reader.ts";

interface ProtobufBody {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object in its JSON form, not canonical yet; empty if `refusal` is set. */
  readonly value: object;
  /** The error of an object that does not fit the schema, in an envelope that could be read. */
  readonly refusal: DecodeError | undefined;
}

/** The maximum nesting of messages; one property of a schema takes two levels. */
const depthMax = 400;

/** Decodes an enveloped object. Throws `DecodeError` for bytes without an envelope. */
export function decodeProtobuf(bytes: Uint8Array, schema: Schema): ProtobufBody {
  const { apiVersion, kind, raw } = readEnvelope(bytes);
  try {
    return { apiVersion, kind, value: message(schema, raw, {}, 0), refusal: undefined };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { apiVersion, kind, value: {}, refusal: error };
  }
}

/**
 * The meaning of a field number: a field of the object, or (`through`) a message that contains fields and has no member
 * of its own in JSON.
 */
interface NumberedField {
  readonly name: string;
  readonly field: Field | undefined;
  readonly through: ReadonlyMap<number, NumberedField> | undefined;
  /** The wire type of a value. A list of scalars may also be packed into bytes. */
  readonly type: number;
}

const numberedFields = new WeakMap<Schema, ReadonlyMap<number, NumberedField>>();

function fieldsByNumber(schema: Schema): ReadonlyMap<number, NumberedField> {
  let byNumber = numberedFields.get(schema);
  if (byNumber === undefined) {
    byNumber = collectByNumber(schema);
    numberedFields.set(schema, byNumber);
  }
  return byNumber;
}

function collectByNumber(schema: Schema): ReadonlyMap<number, NumberedField> {
  const root = new Map<number, NumberedField>();
  for (const [name, field] of schema.fields ?? []) {
    if (field.proto === undefined) continue;
    let level = root;
    for (const [number] of field.protoIn ?? []) {
      // The map is mutable, since this function made it.
      const through = (level.get(number)?.through ?? new Map<number, NumberedField>()) as Map<number, NumberedField>;
      level.set(number, { name: "", field: undefined, through, type: bytesType });
      level = through;
    }
    level.set(field.proto[0], { name, field, through: undefined, type: typeOf(field.schema) });
  }
  return root;
}

type Json = Record<string, unknown>;

/** Adds the fields of a message to `out`, since a message may consist of several parts. */
function message(schema: Schema, reader: ProtobufReader, out: Json, depth: number): Json {
  reader.name = schema.name ?? "";
  fill(out, fieldsByNumber(schema), reader, depth);
  return out;
}

/** Returns the wire type of a value, or of an item of a list. */
function typeOf(schema: Schema): number {
  if (schema.special === undefined && schema.type === "array") return typeOf(schema.items!);
  if (!isScalar(schema)) return bytesType;
  return schema.type === "number" ? fixed64Type : varintType;
}

function fill(out: Json, numbers: ReadonlyMap<number, NumberedField>, reader: ProtobufReader, depth: number): void {
  if (depth > depthMax) throw new DecodeError("exceeded max depth");
  while (reader.next()) {
    const target = numbers.get(reader.number);
    if (target === undefined) reader.skip();
    else if (reader.type !== target.type && !isPacked(target, reader)) throw wrongType(target, reader);
    else if (target.through !== undefined) fill(out, target.through, reader.message(), depth + 1);
    else add(out, target.name, target.field!.schema, reader, depth);
  }
}

const isPacked = ({ field }: NumberedField, { type }: ProtobufReader): boolean =>
  type === bytesType && field?.schema.special === undefined && field?.schema.type === "array";

const wrongType = ({ name, field }: NumberedField, { type, number }: ProtobufReader): DecodeError =>
  new DecodeError(
    `proto: wrong wireType = ${type} for field ${field === undefined ? number : goFieldName(name, field.schema)}`,
  );

function add(out: Json, name: string, schema: Schema, reader: ProtobufReader, depth: number): void {
  if (schema.special === undefined && schema.type === "array") {
    const list = (out[name] ??= []) as unknown[]; // this function puts only lists there
    const items = schema.items!;
    if (reader.type !== bytesType || !isScalar(items)) list.push(one(items, reader, depth + 1));
    else for (const part = reader.packed(); !part.isAtEnd(); ) list.push(scalar(items, part));
  } else if (schema.special === undefined && schema.type === "map") {
    const map = (out[name] ??= {}) as Json; // this function puts only maps there
    entry(map, schema.items!, reader.message(), depth + 1);
  } else {
    out[name] = one(schema, reader, depth + 1, out[name]);
  }
}

const isScalar = ({ type, special: form }: Schema): boolean =>
  form === undefined && (type === "integer" || type === "number" || type === "boolean");

/** Decodes one value; `before` is its value from an earlier part of the message. */
function one(schema: Schema, reader: ProtobufReader, depth: number, before?: unknown): unknown {
  if (schema.special !== undefined) return special(schema, schema.special, reader.message(), depth);
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? reader.bytes().toString("base64") : reader.text();
    case "object":
      return message(schema, reader.message(), (before ?? {}) as Json, depth); // only messages are put there
    case "array": {
      // A list inside of a map is wrapped in a message with one repeated field.
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

function scalar(schema: Schema, reader: Pick<ProtobufReader, "integer" | "double">): unknown {
  if (schema.type === "number") return reader.double();
  const value = reader.integer();
  if (schema.type === "boolean") return Number(value) !== 0;
  if (schema.format === "int32") return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value | 0;
  return typeof value === "bigint" ? rawNumber(String(value)) : value;
}

/** A message without fields, as field 1. */
const nothing = Buffer.from([bytesType + 8, 0]);

function entry(map: Json, items: Schema, reader: ProtobufReader, depth: number): void {
  let key = "";
  let value: unknown;
  while (reader.nextInEntry()) {
    if (reader.number !== 1 && reader.number !== 2) {
      reader.skip();
      continue;
    }
    // Upstream ignores the wire types of an entry.
    reader.type = reader.number === 1 ? bytesType : typeOf(items);
    if (reader.number === 1) key = reader.text();
    else value = one(items, reader, depth);
  }
  if (value === undefined) {
    const none = new ProtobufReader(nothing, 0, nothing.length);
    none.next();
    value = isScalar(items) ? (items.type === "boolean" ? false : 0) : one(items, none, depth);
  }
  setKey(map, key, value);
}

/** Returns the JSON form of a type with special encoding. */
function special(schema: Schema, form: SpecialType, reader: ProtobufReader, depth: number): unknown {
  switch (form) {
    case "time":
    case "microTime":
      return time(form, reader);
    case "duration":
      return `${firstField(reader, (field) => field.integer()) ?? 0}ns`;
    case "quantity":
      return quantity(reader);
    case "intOrString":
      return intOrString(reader);
    case "fieldsV1":
      return fieldSet(reader);
    case "rawExtension":
    case "json":
      return embeddedJson(reader);
    default:
      return schemaOr(form, schema.items!, reader, depth);
  }
}

/** Returns the first field of a message, which `read` reads; `undefined` if it is absent. */
function firstField<T>(reader: ProtobufReader, read: (reader: ProtobufReader) => T): T | undefined {
  let value: T | undefined;
  while (reader.next()) {
    if (reader.number === 1) value = read(reader);
    else reader.skip();
  }
  return value;
}

/** Returns the text of a quantity. JSON may have spaces around it, protobuf may not. */
function quantity(reader: ProtobufReader): string {
  const text = firstField(reader, (field) => field.text()) ?? "";
  if (text !== "" && text.trim() !== text) throw new DecodeError(wrongQuantityFormat);
  return text;
}

function intOrString(reader: ProtobufReader): unknown {
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
 * Returns a schema or a simpler value in the shortest form, as upstream's types write it: a list if it has items, else
 * the schema, else the boolean or null. `items` is the schema of schemas.
 */
function schemaOr(form: SpecialType, items: Schema, reader: ProtobufReader, depth: number): unknown {
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

/** The seconds of year 1 and of year 10000, the limits of times that can be written. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_800;

/**
 * Decodes seconds and nanoseconds, of which a `time` has none. Returns null for an empty message, which is the zero
 * time.
 */
function time(form: "time" | "microTime", reader: ProtobufReader): string | null {
  let seconds = 0;
  let nanos = 0;
  let isEmpty = true;
  reader.name = "Timestamp";
  while (reader.next()) {
    isEmpty = false;
    if (reader.number === 1) seconds = Number(reader.integer("Seconds"));
    else if (reader.number === 2) nanos = Number(BigInt.asIntN(32, BigInt(reader.integer("Nanos"))));
    else reader.skip();
  }
  if (isEmpty) return null;
  if (form === "time") nanos = 0;
  // Nanoseconds may be negative or more than a second.
  const carried = Math.floor(nanos / 1e9);
  seconds += carried;
  nanos -= carried * 1e9;
  if (seconds < secondsMin || seconds >= secondsMax) throw new DecodeError("proto: time out of range");
  return formatTime({ seconds, nanos }, form === "time" ? "seconds" : "micro");
}

/** Decodes the fields of a manager. Upstream keeps the bytes, and drops an entry whose bytes are no JSON later. */
function fieldSet(reader: ProtobufReader): unknown {
  try {
    return embeddedJson(reader);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Decodes JSON from the bytes of the first field. */
function embeddedJson(reader: ProtobufReader): unknown {
  const bytes = firstField(reader, (field) => field.bytes());
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    return decodeJson(bytes).value;
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new DecodeError(`proto: embedded value is not JSON: ${cause.message}`, { cause });
  }
}
