/**
 * Protobuf as an encoding of built-in kinds, whose schemas have field numbers. Answers are what upstream's generated code
 * writes, byte by byte.
 */
import { parseApiVersion } from "#meta/group-version.ts";
import type { BodyEncoding, Encoding } from "./encoding.ts";
import { bracesIn } from "./json.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { lengthBytes, type MetaTypes, ProtobufAnswers } from "./protobuf-answers.ts";
import { magicLength } from "./protobuf-envelope.ts";
import { messagesIn } from "./protobuf-objects.ts";
import { sortedJson } from "./strict.ts";

/** The part that reads bodies. */
export const protobufBodies: BodyEncoding = {
  mediaType: "application/vnd.kubernetes.protobuf",
  stream: "application/vnd.kubernetes.protobuf;stream=watch",
  typedOnly: true,
  tables: false,
  isText: false,
  weight: 4,
  // Protobuf messages embed values of any type as JSON.
  objects: (bytes) => messagesIn(bytes, magicLength) + bracesIn(bytes),
  decode(bytes, schema) {
    const { apiVersion, kind, value, refusal } = decodeProtobuf(bytes, schema);
    const typed = {
      ...value,
      ...(kind === "" ? {} : { kind }),
      // Upstream: without a version the group does not count either, as if both were absent.
      ...((parseApiVersion(apiVersion)?.version ?? "") === "" ? {} : { apiVersion }),
    };
    return {
      value: typed,
      keys: undefined,
      text: () => sortedJson(typed),
      duplicates: [],
      hasRawNumbers: true,
      ...(refusal === undefined ? {} : { refusal }),
    };
  },
};

/** Makes the encoding. It keeps messages of stored objects, so that a server has one. */
export function protobufEncoding(types: MetaTypes): Encoding {
  const answers = new ProtobufAnswers(types);
  return {
    ...protobufBodies,
    sendsStored: false,
    hasJsonFrames: false,
    object: (object) => answers.object(object),
    list: (list, { clock }) => answers.list(list, clock),
    emptyList: (apiVersion, kind) => answers.emptyList(apiVersion, kind),
    frame: (type, object) => answers.frame(type, object),
    frameHeadBytes: lengthBytes,
  };
}
