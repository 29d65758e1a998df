/** Protobuf as an encoding of built-in kinds, whose schemas have field numbers. Bodies only so far. */
import type { BodyEncoding } from "./encoding.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { sortedJson } from "./strict.ts";

export const protobufEncoding: BodyEncoding = {
  mediaType: "application/vnd.kubernetes.protobuf",
  stream: "application/vnd.kubernetes.protobuf;stream=watch",
  typedOnly: true,
  tables: false,
  weight: 4,
  decode(bytes, schema) {
    const { apiVersion, kind, value } = decodeProtobuf(bytes, schema);
    const typed = {
      ...(value as object), // schemas of kinds are structs
      ...(kind === "" ? {} : { kind }),
      ...(apiVersion === "" ? {} : { apiVersion }),
    };
    return { value: typed, keys: undefined, text: () => sortedJson(typed), duplicates: [], hasRawNumbers: true };
  },
};
