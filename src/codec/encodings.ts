/** The encodings of objects, in order of preference; the first is the default. */
import type { BodyEncoding } from "./encoding.ts";
import { jsonEncoding } from "./json-encoding.ts";
import { protobufEncoding } from "./protobuf-encoding.ts";
import { yamlEncoding } from "./yaml-encoding.ts";

export const encodings: readonly BodyEncoding[] = [jsonEncoding, yamlEncoding, protobufEncoding];
