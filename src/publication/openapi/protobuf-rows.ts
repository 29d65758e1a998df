/**
 * Table-driven conversion of JSON objects to protobuf: `Rows` say which member is which field and how it is written.
 * Members that begin with `x-` become named YAML texts; JSON is valid YAML.
 */
import { ProtobufWriter } from "#codec/protobuf-writer.ts";
import type { Json } from "./published-schema.ts";

/** Writes one member as the field `number`. */
export type Encoder = (writer: ProtobufWriter, number: number, value: unknown) => void;
/** By member name; `x-` matches all names with this prefix. */
export type Rows = ReadonlyMap<string, readonly [number: number, encode: Encoder]>;

export function rowsOf(rows: Readonly<Record<string, readonly [number, Encoder]>>): Rows {
  return new Map(Object.entries(rows));
}

/** A document as protobuf. */
export function encodeDocument(document: Json, rows: Rows): Buffer {
  const writer = new ProtobufWriter();
  writeFields(writer, document, rows);
  return writer.finish();
}

/** Writes the members that `rows` name; others are left out. */
export function writeFields(writer: ProtobufWriter, value: unknown, rows: Rows): void {
  for (const [name, member] of Object.entries(value as Json).reverse()) {
    if (name.startsWith("x-")) {
      const row = rows.get("x-");
      if (row !== undefined) writeNamed(writer, row[0], name, member, row[1]);
      continue;
    }
    const row = rows.get(name);
    if (row !== undefined) row[1](writer, row[0], member);
  }
}

/** A message of a name and a value. */
function writeNamed(writer: ProtobufWriter, number: number, name: string, value: unknown, encode: Encoder): void {
  writer.message(number, () => {
    encode(writer, 2, value);
    writer.text(1, name);
  });
}

export const string: Encoder = (writer, number, value) => writer.text(number, String(value));
export const boolean: Encoder = (writer, number, value) => writer.varint(number, value === true ? 1 : 0);
/** A number that is whole and not negative. */
export const whole: Encoder = (writer, number, value) => writer.varint(number, Math.max(0, Number(value)));
export const real: Encoder = (writer, number, value) => writer.double(number, Number(value));

/** A message with these fields. */
export function struct(rows: Rows): Encoder {
  return message((writer, value) => writeFields(writer, value, rows));
}

/** A message written by `write`, last field first. */
export function message(write: (writer: ProtobufWriter, value: unknown) => void): Encoder {
  return (writer, number, value) => writer.message(number, () => write(writer, value));
}

/** A message around the one of `encode`, as its field `inner`. */
export function wrapped(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => encode(writer, inner, value));
}

/** A field for each member of a list, or for the one value that is no list. */
export function repeated(encode: Encoder): Encoder {
  return (writer, number, value) => {
    if (!Array.isArray(value)) encode(writer, number, value);
    else for (let at = value.length - 1; at >= 0; at--) encode(writer, number, value[at]);
  };
}

/** An object whose members are named messages, as field `inner` of a message. */
export function named(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => {
    for (const [name, one] of Object.entries(value as Json).reverse()) writeNamed(writer, inner, name, one, encode);
  });
}

export const strings = repeated(string);
/** A value of any type, as its text. */
export const any = message((writer, value) => writer.text(2, JSON.stringify(value)));

/** What schemas say about values; both versions number these fields in the same order, from `first` on. */
export const limitRows = (first: number): Readonly<Record<string, readonly [number, Encoder]>> =>
  Object.fromEntries(limits.map(([name, encode], at) => [name, [first + at, encode]]));

const limits: readonly (readonly [name: string, encode: Encoder])[] = [
  ["multipleOf", real],
  ["maximum", real],
  ["exclusiveMaximum", boolean],
  ["minimum", real],
  ["exclusiveMinimum", boolean],
  ["maxLength", whole],
  ["minLength", whole],
  ["pattern", string],
  ["maxItems", whole],
  ["minItems", whole],
  ["uniqueItems", boolean],
  ["maxProperties", whole],
  ["minProperties", whole],
  ["required", strings],
  ["enum", repeated(any)],
];
