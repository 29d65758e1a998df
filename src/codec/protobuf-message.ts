/**
 * Writes objects of built-in kinds as protobuf messages, by the field numbers of their schemas, byte by byte as
 * upstream's generated code does: fields in the order of their numbers, values without a pointer also when they are
 * absent, maps in the order of their keys. Each schema is compiled to functions once. Source of the format: upstream's
 * `generated.proto`.
 */
import { leadingSeconds } from "#meta/time.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { compareCodePoints } from "#std/code-points.ts";
import { escapeHtml } from "#std/escape-html.ts";
import { parseDuration } from "#std/go-duration.ts";
import { type Int64, int64Of, isInt64 } from "#std/int64.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { ProtobufWriter } from "./protobuf-writer.ts";

type Json = Readonly<Record<string, unknown>>;

/** Writes the content of a message, the last field first. */
type MessageWriter = (writer: ProtobufWriter, value: Json) => void;

/** Writes a value as a field with this number; `undefined` is the zero value of the type. */
type ValueWriter = (writer: ProtobufWriter, number: number, value: unknown) => void;

const messageWriters = new WeakMap<Schema, MessageWriter>();

/** Returns the function that writes objects of a struct; the same for the same schema. */
export function messageWriter(schema: Schema): MessageWriter {
  const existing = messageWriters.get(schema);
  if (existing !== undefined) return existing;
  // The fields are compiled at the first call, since a schema may contain itself.
  let fields: MessageWriter | undefined;
  const write: MessageWriter = (writer, value) => {
    fields ??= compileFields(fieldsOf(schema));
    fields(writer, value);
  };
  messageWriters.set(schema, write);
  return write;
}

/** A field of the object, or a message that contains such fields and has no member of its own in JSON. */
type NumberedField =
  | { readonly number: number; readonly name: string; readonly field: Field }
  | { readonly number: number; readonly fields: NumberedField[] };

function fieldsOf(schema: Schema): NumberedField[] {
  const root: NumberedField[] = [];
  for (const [name, field] of schema.fields ?? []) {
    if (field.proto === undefined) continue;
    let level = root;
    for (const [number] of field.protoIn ?? []) {
      const existing = level.find((one) => one.number === number);
      const fields = existing !== undefined && "fields" in existing ? existing.fields : [];
      if (existing === undefined) level.push({ number, fields });
      level = fields;
    }
    level.push({ number: field.proto[0], name, field });
  }
  return root;
}

function compileFields(fields: readonly NumberedField[]): MessageWriter {
  const writers = fields.toSorted((a, b) => b.number - a.number).map(compileField);
  return (writer, value) => {
    for (const write of writers) write(writer, value);
  };
}

function compileField(target: NumberedField): MessageWriter {
  const { number } = target;
  if ("fields" in target) {
    const write = compileFields(target.fields);
    return (writer, value) => {
      const end = writer.length;
      write(writer, value);
      writer.wrap(number, end);
    };
  }
  const { name, field } = target;
  const write = valueWriter(field.schema);
  const isAlwaysWritten = field.ptr !== true && hasZero(field.schema);
  return (writer, object) => {
    const value = object[name] ?? undefined;
    if (value !== undefined || isAlwaysWritten) write(writer, number, value);
  };
}

/** Whether a value of the type that is absent, and has no pointer, is written as its zero value. */
const hasZero = ({ type, format, special }: Schema): boolean =>
  special !== undefined || (type !== "array" && type !== "map" && format !== "byte");

function valueWriter(schema: Schema): ValueWriter {
  if (schema.special !== undefined) return specialWriter(schema.special, schema);
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? writeBase64 : writeText;
    case "integer":
      return writeInteger;
    case "number":
      return (writer, number, value = 0) => writer.double(number, Number(isRawNumber(value) ? value.rawJSON : value));
    case "boolean":
      return (writer, number, value) => writer.varint(number, value === true ? 1 : 0);
    case "object":
      return structWriter(schema);
    case "array":
      return listWriter(schema.items!);
    case "map":
      return mapWriter(schema.items!);
    case "any":
      throw new Error("the type has no protobuf form");
  }
}

// The values are of these types, since they are decoded objects.
const writeText: ValueWriter = (writer, number, value = "") => writer.text(number, value as string);
const writeBase64: ValueWriter = (writer, number, value) => {
  writer.blob(number, Buffer.from(value as string, "base64"));
};
const writeInteger: ValueWriter = (writer, number, value = 0) => writer.integer(number, value as Int64);

function structWriter(schema: Schema): ValueWriter {
  const write = messageWriter(schema);
  return (writer, number, value = {}) => {
    const end = writer.length;
    write(writer, value as Json);
    writer.wrap(number, end);
  };
}

function listWriter(items: Schema): ValueWriter {
  const write = valueWriter(items);
  return (writer, number, value) => {
    const list = value as readonly unknown[];
    for (let at = list.length - 1; at >= 0; at--) write(writer, number, list[at]);
  };
}

function mapWriter(items: Schema): ValueWriter {
  const write = items.type === "array" && items.special === undefined ? wrappedList(items) : valueWriter(items);
  return (writer, number, value) => {
    const map = value as Json;
    for (const key of Object.keys(map).sort(compareCodePoints).reverse()) {
      const end = writer.length;
      write(writer, 2, map[key] ?? undefined);
      writer.text(1, key);
      writer.wrap(number, end);
    }
  };
}

/** A list inside of a map is a message with one repeated field. */
function wrappedList(schema: Schema): ValueWriter {
  const write = valueWriter(schema);
  return (writer, number, value = []) => {
    const end = writer.length;
    write(writer, 1, value);
    writer.wrap(number, end);
  };
}

/** Returns the function for a type whose JSON form does not follow from its structure. */
function specialWriter(special: SpecialType, schema: Schema): ValueWriter {
  const writeContent = contentWriter(special, schema);
  return (writer, number, value) => {
    const end = writer.length;
    writeContent(writer, value);
    writer.wrap(number, end);
  };
}

/** Returns the function that writes the content of the message of a special type. */
function contentWriter(special: SpecialType, schema: Schema): (writer: ProtobufWriter, value: unknown) => void {
  switch (special) {
    case "time":
    case "microTime":
      return writeTime;
    case "duration":
      return (writer, value = "0s") => writer.integer(1, int64Of(parseDuration(value as string) as bigint));
    case "quantity":
      return (writer, value = "0") => writer.text(1, value as string);
    case "intOrString":
      return writeIntOrString;
    case "rawExtension":
    case "fieldsV1":
      return (writer, value) => {
        if (value !== undefined) writer.text(1, JSON.stringify(value));
      };
    case "json":
      return (writer, value) => {
        if (value !== undefined) writer.text(1, escapeHtml(canonicalJson(value)));
      };
    case "schemaOrArray":
    case "schemaOrBool":
    case "schemaOrStringArray":
      return schemaOrWriter(special, schema.items!);
  }
}

/**
 * Returns JSON with sorted members and numbers in their shortest form, as upstream stores the values in schemas of
 * definitions. Integers of 64 bits are exact, other numbers have the precision of a double.
 */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isRawNumber(value)) {
    const { rawJSON } = value;
    return isInt64(rawJSON) ? String(BigInt(rawJSON)) : JSON.stringify(Number(rawJSON));
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = value as Json; // it came from JSON
  const keys = Object.keys(members).sort(compareCodePoints);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(members[key])}`).join(",")}}`;
}

/** Writes seconds and nanoseconds; nothing for the zero time. */
function writeTime(writer: ProtobufWriter, value: unknown): void {
  if (value === undefined) return;
  const text = value as string;
  writer.integer(2, text[19] === "." ? Number(text.slice(20, 26)) * 1000 : 0);
  writer.integer(1, leadingSeconds(text));
}

function writeIntOrString(writer: ProtobufWriter, value: unknown = 0): void {
  const isText = typeof value === "string";
  writer.text(3, isText ? value : "");
  writer.integer(2, isText ? 0 : (value as Int64));
  writer.integer(1, isText ? 1 : 0);
}

/** Writes a schema, or what may stand in its place. `items` is the schema of schemas. */
function schemaOrWriter(special: SpecialType, items: Schema): (writer: ProtobufWriter, value: unknown) => void {
  const writeSchema = structWriter(items);
  const writeTexts = listWriter({ type: "string" });
  const writeSchemas = listWriter(items);
  return (writer, value) => {
    if (special === "schemaOrBool") {
      const isSchema = typeof value === "object";
      if (isSchema) writeSchema(writer, 2, value);
      // Upstream: a schema allows what it describes.
      writer.varint(1, isSchema || value === true ? 1 : 0);
    } else if (!Array.isArray(value)) writeSchema(writer, 1, value);
    else if (special === "schemaOrStringArray") writeTexts(writer, 2, value);
    else writeSchemas(writer, 2, value);
  };
}
