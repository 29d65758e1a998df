/**
 * The version 2 document in protobuf, the only form that older clients of this API ask for. It is made from the JSON
 * document: `Rows` say for each kind of object which member is which field. Members that begin with `x-` are texts of
 * YAML, and JSON is YAML. Source of the numbers: `OpenAPIv2.proto` of `google/gnostic-models`.
 */
import { BackwardWriter } from "./backward-writer.ts";
import type { Json } from "./types.ts";

/** The JSON document as protobuf. */
export function encodeProtobufV2(document: Json): Buffer {
  const writer = new BackwardWriter();
  writeFields(writer, document, documentRows);
  return writer.finish();
}

/** Writes one member as the field `number`. */
type Encoder = (writer: BackwardWriter, number: number, value: unknown) => void;
/** By name of the member; `x-` stands for all that begin so. */
type Rows = ReadonlyMap<string, readonly [number: number, encode: Encoder]>;

function rowsOf(rows: Readonly<Record<string, readonly [number, Encoder]>>): Rows {
  return new Map(Object.entries(rows));
}

function writeFields(writer: BackwardWriter, value: unknown, rows: Rows): void {
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
function writeNamed(writer: BackwardWriter, number: number, name: string, value: unknown, encode: Encoder): void {
  const end = writer.length;
  encode(writer, 2, value);
  writer.text(1, name);
  writer.head(number, writer.length - end);
}

const string: Encoder = (writer, number, value) => writer.text(number, String(value));
const boolean: Encoder = (writer, number, value) => writer.varint(number, value === true ? 1 : 0);
const whole: Encoder = (writer, number, value) => writer.varint(number, Math.max(0, Number(value)));
const real: Encoder = (writer, number, value) => writer.double(number, Number(value));

/** A message with these fields. */
function struct(rows: Rows): Encoder {
  return message((writer, value) => writeFields(writer, value, rows));
}

function message(write: (writer: BackwardWriter, value: unknown) => void): Encoder {
  return (writer, number, value) => {
    const end = writer.length;
    write(writer, value);
    writer.head(number, writer.length - end);
  };
}

/** A message around the one of `encode`, as its field `inner`. */
function wrapped(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => encode(writer, inner, value));
}

/** A field for each member of a list, or for the one value that is no list. */
function repeated(encode: Encoder): Encoder {
  return (writer, number, value) => {
    if (!Array.isArray(value)) encode(writer, number, value);
    else for (let at = value.length - 1; at >= 0; at--) encode(writer, number, value[at]);
  };
}

/** An object whose members are named messages, as field `inner` of a message. */
function named(inner: number, encode: Encoder): Encoder {
  return message((writer, value) => {
    for (const [name, one] of Object.entries(value as Json).reverse()) writeNamed(writer, inner, name, one, encode);
  });
}

const strings = repeated(string);
/** A value of any type, as its text. */
const any = message((writer, value) => writer.text(2, JSON.stringify(value)));

const schema: Encoder = (writer, number, value) => {
  const end = writer.length;
  writeFields(writer, value, schemaRows);
  writer.head(number, writer.length - end);
};
const schemaOrBoolean: Encoder = (writer, number, value) =>
  (typeof value === "boolean" ? wrapped(2, boolean) : wrapped(1, schema))(writer, number, value);

const schemaRows = rowsOf({
  $ref: [1, string],
  format: [2, string],
  title: [3, string],
  description: [4, string],
  default: [5, any],
  multipleOf: [6, real],
  maximum: [7, real],
  exclusiveMaximum: [8, boolean],
  minimum: [9, real],
  exclusiveMinimum: [10, boolean],
  maxLength: [11, whole],
  minLength: [12, whole],
  pattern: [13, string],
  maxItems: [14, whole],
  minItems: [15, whole],
  uniqueItems: [16, boolean],
  maxProperties: [17, whole],
  minProperties: [18, whole],
  required: [19, strings],
  enum: [20, repeated(any)],
  additionalProperties: [21, schemaOrBoolean],
  type: [22, wrapped(1, strings)],
  items: [23, wrapped(1, repeated(schema))],
  allOf: [24, repeated(schema)],
  properties: [25, named(1, schema)],
  example: [30, any],
  "x-": [31, any],
});

const reference = struct(rowsOf({ $ref: [1, string] }));

const bodyRows = rowsOf({
  description: [1, string],
  name: [2, string],
  in: [3, string],
  required: [4, boolean],
  schema: [5, schema],
});
const anyPlace = { required: [1, boolean], in: [2, string], description: [3, string], name: [4, string] } as const;
const queryRows = rowsOf({ ...anyPlace, type: [6, string], uniqueItems: [20, boolean] });
const pathRows = rowsOf({ ...anyPlace, type: [5, string], uniqueItems: [19, boolean] });

/** Body, query and path parameters are messages of their own. */
const parameterKinds: Readonly<Record<string, Encoder>> = {
  body: wrapped(1, struct(bodyRows)),
  path: wrapped(2, wrapped(4, struct(pathRows))),
  query: wrapped(2, wrapped(3, struct(queryRows))),
};
const parameter: Encoder = (writer, number, value) =>
  parameterKinds[String((value as Json)["in"])]?.(writer, number, value);
const defined = wrapped(1, parameter);
const referred = wrapped(2, reference);
const parameters = repeated((writer, number, value) =>
  ("$ref" in (value as Json) ? referred : defined)(writer, number, value),
);

const response = struct(rowsOf({ description: [1, string], schema: [2, wrapped(1, schema)] }));

const operation = struct(
  rowsOf({
    tags: [1, strings],
    description: [3, string],
    operationId: [5, string],
    produces: [6, strings],
    consumes: [7, strings],
    parameters: [8, parameters],
    responses: [9, named(1, wrapped(1, response))],
    schemes: [10, strings],
    "x-": [13, any],
  }),
);

const pathItem = struct(
  rowsOf({
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, parameters],
  }),
);

const key = struct(rowsOf({ type: [1, string], name: [2, string], in: [3, string], description: [4, string] }));

const documentRows = rowsOf({
  swagger: [1, string],
  info: [2, struct(rowsOf({ title: [1, string], version: [2, string] }))],
  paths: [8, named(2, pathItem)],
  definitions: [9, named(1, schema)],
  parameters: [10, named(1, parameter)],
  security: [12, repeated(named(1, wrapped(1, strings)))],
  securityDefinitions: [13, named(1, wrapped(2, key))],
});
