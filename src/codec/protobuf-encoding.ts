/** Protobuf as an encoding of built-in kinds, whose schemas have field numbers. It reads bodies only. */
import { parseApiVersion } from "#meta/group-version.ts";
import type { BodyEncoding } from "./encoding.ts";
import { bracesIn } from "./json.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { magicLength } from "./protobuf-envelope.ts";
import { messagesIn } from "./protobuf-objects.ts";
import { sortedJson } from "./strict.ts";

export const protobufEncoding: BodyEncoding = {
  mediaType: "application/vnd.kubernetes.protobuf",
  stream: "application/vnd.kubernetes.protobuf;stream=watch",
  typedOnly: true,
  tables: false,
  isText: false,
  weight: 4,
  // Protobuf messages embed values of any type as JSON.
  objects: (bytes) => messagesIn(bytes, magicLength) + bracesIn(bytes),
  decode(bytes, schema) {
    const { apiVersion, kind, value } = decodeProtobuf(bytes, schema);
    const typed = {
      ...(value as object), // schemas of kinds are structs
      ...(kind === "" ? {} : { kind }),
      // Upstream: without a version the group does not count either, as if both were absent.
      ...((parseApiVersion(apiVersion)?.version ?? "") === "" ? {} : { apiVersion }),
    };
    return { value: typed, keys: undefined, text: () => sortedJson(typed), duplicates: [], hasRawNumbers: true };
  },
};
