/**
 * Converts JSON objects to protobuf by tables: `Rows` define the field of each member and its encoder. Members that
 * begin with `x-` become named YAML texts; JSON is valid YAML.
 */
import { ProtobufWriter } from "#codec/protobuf-writer.ts";
import type { MutableJson } from "./published-schema.ts";

/** Writes one member as the field `number`. */
export type Encoder = (writer: ProtobufWriter, number: number, value: unknown) => void;
/** The rows by names of members; `x-` matches all names with this prefix. */
type Rows = Readonly<Record<string, readonly [number: number, encode: Encoder]>>;

/** Returns the encoder of a message with the members in `rows`; other members are omitted. */
export const struct = (rows: Rows): Encoder => message(fieldsOf(rows));

/** Returns the encoder of documents with these members. */
export function documentEncoder(rows: Rows): (document: MutableJson) => Buffer {
  const write = fieldsOf(rows);
  return (document) => {
    const writer = new ProtobufWriter();
    write(writer, document);
    return writer.finish();
  };
}

function fieldsOf(rows: Rows): (writer: ProtobufWriter, value: unknown) => void {
  const byName = new Map(Object.entries(rows));
  return (writer, value) => {
    for (const [name, member] of Object.entries(value as MutableJson).reverse()) {
      const isExtension = name.startsWith("x-");
      const row = byName.get(isExtension ? "x-" : name);
      if (row === undefined) continue;
      if (isExtension) writeNamed(writer, row[0], name, member, row[1]);
      else row[1](writer, row[0], member);
    }
  };
}

/** Writes a message of a name and a value. */
function writeNamed(writer: ProtobufWriter, number: number, name: string, value: unknown, encode: Encoder): void {
  writer.message(number, () => {
    encode(writer, 2, value);
    writer.text(1, name);
  });
}

export const string: Encoder = (writer, number, value) => writer.text(number, String(value));
export const boolean: Encoder = (writer, number, value) => writer.varint(number, value === true ? 1 : 0);
/** Encodes a whole number; negative ones become 0. */
const whole: Encoder = (writer, number, value) => writer.varint(number, Math.max(0, Number(value)));
export const real: Encoder = (writer, number, value) => writer.double(number, Number(value));

/** Returns the encoder of a message that `write` writes, last field first. */
function message(write: (writer: ProtobufWriter, value: unknown) => void): Encoder {
  return (writer, number, value) => writer.message(number, () => write(writer, value));
}

/** Returns the encoder of a message that contains the value as its field `inner`. */
export function wrappedMessage(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => encode(writer, inner, value));
}

/** Returns the encoder of a repeated field: one field for each member of a list, or for a single value. */
export function repeatedField(encode: Encoder): Encoder {
  return (writer, number, value) => {
    if (!Array.isArray(value)) encode(writer, number, value);
    else for (let at = value.length - 1; at >= 0; at--) encode(writer, number, value[at]);
  };
}

/** Returns the encoder of an object whose members are named messages, as field `inner` of a message. */
export function namedMessages(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => {
    for (const [name, one] of Object.entries(value as MutableJson).reverse())
      writeNamed(writer, inner, name, one, encode);
  });
}

export const strings = repeatedField(string);
/** Encodes a value of any type, as its text. */
export const any = message((writer, value) => writer.text(2, JSON.stringify(value)));

/** Returns the encoder of a message with two fields, for a value that is a reference or is encoded by `encode`. */
export function orReference(encode: Encoder): Encoder {
  const plain = wrappedMessage(1, encode);
  const referred = wrappedMessage(2, struct({ $ref: [1, string] }));
  return (writer, number, value) => ("$ref" in (value as MutableJson) ? referred : plain)(writer, number, value);
}

/** Returns the encoder of a message with two fields, for a value that is a boolean or is encoded by `encode`. */
export function orBoolean(encode: Encoder): Encoder {
  const plain = wrappedMessage(1, encode);
  const flag = wrappedMessage(2, boolean);
  return (writer, number, value) => (typeof value === "boolean" ? flag : plain)(writer, number, value);
}

/** Returns the rows of the keywords that limit values. Both versions number them in the same order, from `first` on. */
export const limitRows = (first: number): Rows => numbered(first, limits);

/** Returns the rows of the operations of a path. Both versions number them in the same order, from `first` on. */
export const methodRows = (first: number, operation: Encoder): Rows =>
  numbered(
    first,
    ["get", "put", "post", "delete", "options", "head", "patch"].map((method) => [method, operation]),
  );

const numbered = (first: number, encoders: readonly (readonly [name: string, encode: Encoder])[]): Rows =>
  Object.fromEntries(encoders.map(([name, encode], at) => [name, [first + at, encode]]));

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
  ["enum", repeatedField(any)],
];
