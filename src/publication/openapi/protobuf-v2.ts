/**
 * The version 2 document in protobuf, converted from JSON; the only form that older clients request. Source of field
 * numbers: `OpenAPIv2.proto` of `google/gnostic-models`.
 */
import {
  any,
  boolean,
  encodeDocument,
  type Encoder,
  limitRows,
  message,
  named,
  repeated,
  rowsOf,
  string,
  strings,
  struct,
  wrapped,
  writeFields,
} from "./protobuf-rows.ts";
import type { Json } from "./published-schema.ts";

/** The JSON document as protobuf. */
export const encodeProtobufV2 = (document: Json): Buffer => encodeDocument(document, documentRows);

const schema: Encoder = message((writer, value) => writeFields(writer, value, schemaRows));
const schemaOrBoolean: Encoder = (writer, number, value) =>
  (typeof value === "boolean" ? wrapped(2, boolean) : wrapped(1, schema))(writer, number, value);

const schemaRows = rowsOf({
  $ref: [1, string],
  format: [2, string],
  title: [3, string],
  description: [4, string],
  default: [5, any],
  ...limitRows(6),
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
