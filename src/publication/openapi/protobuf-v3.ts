/**
 * A version 3 document in protobuf, converted from JSON. The format has no place for defaults that are objects. Source
 * of field numbers: `OpenAPIv3.proto` of `google/gnostic-models`.
 */
import {
  any,
  boolean,
  encodeDocument,
  type Encoder,
  limitRows,
  message,
  named,
  real,
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
export const encodeProtobufV3 = (document: Json): Buffer => encodeDocument(document, documentRows);

const schema: Encoder = message((writer, value) => writeFields(writer, value, schemaRows));
const reference = struct(rowsOf({ $ref: [1, string] }));
const plainSchema = wrapped(1, schema);
const referredSchema = wrapped(2, reference);
const schemaOrReference: Encoder = (writer, number, value) =>
  ("$ref" in (value as Json) ? referredSchema : plainSchema)(writer, number, value);
const otherMembers = wrapped(1, schemaOrReference);
const otherMembersAtAll = wrapped(2, boolean);

const defaultNumber = wrapped(1, real);
const defaultBoolean = wrapped(2, boolean);
const defaultString = wrapped(3, string);
const defaultValue: Encoder = (writer, number, value) => {
  if (typeof value === "number") defaultNumber(writer, number, value);
  else if (typeof value === "boolean") defaultBoolean(writer, number, value);
  else if (typeof value === "string") defaultString(writer, number, value);
};

const schemaRows = rowsOf({
  nullable: [1, boolean],
  example: [7, any],
  title: [9, string],
  ...limitRows(10),
  type: [25, string],
  allOf: [26, repeated(schemaOrReference)],
  oneOf: [27, repeated(schemaOrReference)],
  anyOf: [28, repeated(schemaOrReference)],
  not: [29, schema],
  items: [30, wrapped(1, repeated(schemaOrReference))],
  properties: [31, named(1, schemaOrReference)],
  additionalProperties: [
    32,
    (writer, number, value) => (typeof value === "boolean" ? otherMembersAtAll : otherMembers)(writer, number, value),
  ],
  default: [33, defaultValue],
  description: [34, string],
  format: [35, string],
  "x-": [36, any],
});

const mediaTypes = named(1, struct(rowsOf({ schema: [1, schemaOrReference] })));

const parameters = repeated(
  wrapped(
    1,
    struct(
      rowsOf({
        name: [1, string],
        in: [2, string],
        description: [3, string],
        required: [4, boolean],
        schema: [10, schemaOrReference],
      }),
    ),
  ),
);

const body = struct(rowsOf({ content: [2, mediaTypes], required: [3, boolean] }));
const response = struct(rowsOf({ description: [1, string], content: [3, mediaTypes] }));

const operation = struct(
  rowsOf({
    tags: [1, strings],
    description: [3, string],
    operationId: [5, string],
    parameters: [6, parameters],
    requestBody: [7, wrapped(1, body)],
    responses: [8, named(2, wrapped(1, response))],
    "x-": [13, any],
  }),
);

const pathItem = struct(
  rowsOf({
    get: [4, operation],
    put: [5, operation],
    post: [6, operation],
    delete: [7, operation],
    options: [8, operation],
    head: [9, operation],
    patch: [10, operation],
    parameters: [13, parameters],
  }),
);

const documentRows = rowsOf({
  openapi: [1, string],
  info: [2, struct(rowsOf({ title: [1, string], version: [6, string] }))],
  paths: [4, named(1, pathItem)],
  components: [5, struct(rowsOf({ schemas: [1, named(1, schemaOrReference)] }))],
});
