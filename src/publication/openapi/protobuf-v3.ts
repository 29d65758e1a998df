/**
 * Converts a version 3 document from JSON to protobuf. The format has no field for defaults that are objects. Source of
 * field numbers: `OpenAPIv3.proto` of `google/gnostic-models`.
 */
import {
  any,
  boolean,
  documentEncoder,
  type Encoder,
  limitRows,
  methodRows,
  namedMessages,
  orBoolean,
  orReference,
  real,
  repeatedField,
  string,
  strings,
  struct,
  wrappedMessage,
} from "./protobuf-rows.ts";

/** Encodes a schema. It is a function, since a schema contains schemas. */
const schema: Encoder = (writer, number, value) => schemaMessage(writer, number, value);
const schemaOrReference = orReference(schema);

const defaults: Readonly<Record<string, Encoder>> = {
  number: wrappedMessage(1, real),
  boolean: wrappedMessage(2, boolean),
  string: wrappedMessage(3, string),
};

const schemaMessage = struct({
  nullable: [1, boolean],
  example: [7, any],
  title: [9, string],
  ...limitRows(10),
  type: [25, string],
  allOf: [26, repeatedField(schemaOrReference)],
  oneOf: [27, repeatedField(schemaOrReference)],
  anyOf: [28, repeatedField(schemaOrReference)],
  not: [29, schema],
  items: [30, wrappedMessage(1, repeatedField(schemaOrReference))],
  properties: [31, namedMessages(1, schemaOrReference)],
  additionalProperties: [32, orBoolean(schemaOrReference)],
  default: [33, (writer, number, value) => defaults[typeof value]?.(writer, number, value)],
  description: [34, string],
  format: [35, string],
  "x-": [36, any],
});

const mediaTypes = namedMessages(1, struct({ schema: [1, schemaOrReference] }));

const parameter = struct({
  name: [1, string],
  in: [2, string],
  description: [3, string],
  required: [4, boolean],
  schema: [10, schemaOrReference],
});
const parameters = repeatedField(wrappedMessage(1, parameter));

const body = struct({ content: [2, mediaTypes], required: [3, boolean] });
const response = struct({ description: [1, string], content: [3, mediaTypes] });

const operation = struct({
  tags: [1, strings],
  description: [3, string],
  operationId: [5, string],
  parameters: [6, parameters],
  requestBody: [7, wrappedMessage(1, body)],
  responses: [8, namedMessages(2, wrappedMessage(1, response))],
  "x-": [13, any],
});

const key = struct({ type: [1, string], description: [2, string], name: [3, string], in: [4, string] });
const components = struct({
  schemas: [1, namedMessages(1, schemaOrReference)],
  securitySchemes: [7, namedMessages(1, wrappedMessage(1, key))],
});

/** Returns the JSON document as protobuf. */
export const encodeProtobufV3 = documentEncoder({
  openapi: [1, string],
  info: [2, struct({ title: [1, string], version: [6, string] })],
  paths: [4, namedMessages(1, struct({ ...methodRows(4, operation), parameters: [13, parameters] }))],
  components: [5, components],
});
