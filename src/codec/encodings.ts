/** The encodings of objects, in order of preference; the first is the default. */
import { cborEncoding } from "./cbor-encoding.ts";
import type { Encoding } from "./encoding.ts";
import { jsonEncoding } from "./json-encoding.ts";
import type { MetaTypes } from "./protobuf-answers.ts";
import { protobufEncoding } from "./protobuf-encoding.ts";
import { yamlEncoding } from "./yaml-encoding.ts";

/** Makes the encodings of a server. */
export const allEncodings = (types: MetaTypes): readonly Encoding[] => [
  jsonEncoding,
  yamlEncoding,
  protobufEncoding(types),
  cborEncoding(),
];
