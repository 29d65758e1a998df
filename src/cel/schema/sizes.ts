/**
 * Computes the maximal sizes of values under a schema: by its own limits, or by the largest request. Cost estimates use
 * them, so the numbers are upstream's.
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";

/** The sizes of a declared value. */
export interface SizeBounds {
  /** The maximum number of characters, bytes, elements or entries. */
  readonly sizeMax: number;
  /** The minimum number of bytes of its JSON text. */
  readonly jsonMin: number;
}

const requestBytesMax = 3 * 1024 * 1024;

/** The number of bytes of a string that fills a request except for its quotes. */
export const requestTextMax = requestBytesMax - 2;

/** The size of values without a length: the reference counts nothing for them in comparisons. */
const unsized = 0;

/** The bounds of each kind. The `sizeMax` of texts, lists and maps also depends on the schema. */
export const sizeBounds = {
  boolean: { sizeMax: unsized, jsonMin: 4 },
  number: { sizeMax: unsized, jsonMin: 1 },
  intOrString: { sizeMax: requestTextMax, jsonMin: 1 },
  text: { sizeMax: requestTextMax, jsonMin: 2 },
  date: { sizeMax: 12, jsonMin: 12 },
  dateTime: { sizeMax: 32, jsonMin: 21 },
  duration: { sizeMax: 32, jsonMin: 3 },
  list: { sizeMax: requestTextMax, jsonMin: 2 },
  map: { sizeMax: requestTextMax, jsonMin: 2 },
} as const satisfies Readonly<Record<string, SizeBounds>>;

const atLeastZero = (limit: Int64): number => Math.max(0, nearestNumber(limit));

/**
 * Returns the maximum number of bytes of a text whose characters have up to `bytesMax` bytes. Without a maximum length,
 * the longest value of the enum counts.
 */
export function textMax(props: JsonSchemaProps, bytesMax: number): number {
  if (props.maxLength !== undefined) return atLeastZero(props.maxLength) * bytesMax;
  if (bytesMax === 1 || props.enum === undefined || props.enum.length === 0) return requestTextMax;
  return props.enum.reduce<number>(
    (longest, value) => (typeof value === "string" ? Math.max(longest, Buffer.byteLength(value)) : longest),
    0,
  );
}

/** Returns the maximum number of elements of a list. Each element has a comma. */
export function elementsMax({ maxItems }: JsonSchemaProps, element: SizeBounds): number {
  return maxItems === undefined ? Math.floor(requestTextMax / (element.jsonMin + 1)) : atLeastZero(maxItems);
}

/** Returns the maximum number of entries of a map. Each entry has a key with quotes, a colon and a comma. */
export function entriesMax({ maxProperties }: JsonSchemaProps, value: SizeBounds): number {
  return maxProperties === undefined ? Math.floor(requestTextMax / (value.jsonMin + 6)) : atLeastZero(maxProperties);
}

interface Property {
  readonly key: string;
  readonly props: JsonSchemaProps;
  readonly declaration: SizeBounds;
}

/** Returns the bounds of an object. Its braces, and the required properties without default, count. */
export function sizeBoundsOfObject(properties: readonly Property[], required: ReadonlySet<string>): SizeBounds {
  let jsonMin = 2;
  for (const { key, props, declaration } of properties) {
    const isThere = required.has(key) && (props.default === undefined || props.default === null);
    if (isThere) jsonMin += Buffer.byteLength(key) + 4 + declaration.jsonMin;
  }
  return { sizeMax: unsized, jsonMin };
}

/**
 * Returns the maximum number of values of a part of a schema in one object. `around` are the limits of the lists and
 * maps that contain the part. If one of them has no limit, the result is the number of values that fit into a request,
 * however they are nested.
 */
export function cardinality(around: readonly (Int64 | undefined)[], value: SizeBounds): number {
  let count = 1;
  for (const limit of around) {
    if (limit === undefined) return Math.floor(requestBytesMax / (value.jsonMin + 1));
    count *= atLeastZero(limit);
  }
  return count;
}
