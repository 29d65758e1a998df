/**
 * Converts the version 2 document from JSON to protobuf, which is the only form that older clients request. Source of
 * field numbers: `OpenAPIv2.proto` of `google/gnostic-models`.
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
  repeatedField,
  string,
  strings,
  struct,
  wrappedMessage,
} from "./protobuf-rows.ts";
import type { MutableJson } from "./published-schema.ts";

/** Encodes a schema. It is a function, since a schema contains schemas. */
const schema: Encoder = (writer, number, value) => schemaMessage(writer, number, value);
const schemaMessage = struct({
  $ref: [1, string],
  format: [2, string],
  title: [3, string],
  description: [4, string],
  default: [5, any],
  ...limitRows(6),
  additionalProperties: [21, orBoolean(schema)],
  type: [22, wrappedMessage(1, strings)],
  items: [23, wrappedMessage(1, repeatedField(schema))],
  allOf: [24, repeatedField(schema)],
  properties: [25, namedMessages(1, schema)],
  example: [30, any],
  "x-": [31, any],
});

const body = struct({
  description: [1, string],
  name: [2, string],
  in: [3, string],
  required: [4, boolean],
  schema: [5, schema],
});
const commonFields = { required: [1, boolean], in: [2, string], description: [3, string], name: [4, string] } as const;
const query = struct({ ...commonFields, type: [6, string], uniqueItems: [20, boolean] });
const path = struct({ ...commonFields, type: [5, string], uniqueItems: [19, boolean] });

/** The encoders of parameters: body, query and path parameters are messages of different types. */
const parameterKinds: Readonly<Record<string, Encoder>> = {
  body: wrappedMessage(1, body),
  path: wrappedMessage(2, wrappedMessage(4, path)),
  query: wrappedMessage(2, wrappedMessage(3, query)),
};
const parameter: Encoder = (writer, number, value) =>
  parameterKinds[String((value as MutableJson)["in"])]?.(writer, number, value);
const parameters = repeatedField(orReference(parameter));

const response = struct({ description: [1, string], schema: [2, wrappedMessage(1, schema)] });

const operation = struct({
  tags: [1, strings],
  description: [3, string],
  operationId: [5, string],
  produces: [6, strings],
  consumes: [7, strings],
  parameters: [8, parameters],
  responses: [9, namedMessages(1, wrappedMessage(1, response))],
  schemes: [10, strings],
  "x-": [13, any],
});

const key = struct({ type: [1, string], name: [2, string], in: [3, string], description: [4, string] });

/** Returns the JSON document as protobuf. */
export const encodeProtobufV2 = documentEncoder({
  swagger: [1, string],
  info: [2, struct({ title: [1, string], version: [2, string] })],
  paths: [8, namedMessages(2, struct({ ...methodRows(2, operation), parameters: [9, parameters] }))],
  definitions: [9, namedMessages(1, schema)],
  parameters: [10, namedMessages(1, parameter)],
  security: [12, repeatedField(namedMessages(1, wrappedMessage(1, strings)))],
  securityDefinitions: [13, namedMessages(1, wrappedMessage(2, key))],
});
