/**
 * Maximal sizes of values under a schema: its own limits, or what fits into the largest request. Cost estimates use
 * them, so the numbers are upstream's.
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";

/** The sizes of a declared value. */
export interface SizeBounds {
  /** Number of characters, bytes, elements or entries, at most. */
  readonly sizeMax: number;
  /** Bytes of its JSON text, at least. */
  readonly jsonMin: number;
}

const requestBytesMax = 3 * 1024 * 1024;

/** A string that fills a request but for its quotes has so many bytes. */
export const requestTextMax = requestBytesMax - 2;

/** Values that have no length have this one: the reference counts nothing for them where it compares. */
const unsized = 0;

/** The bounds of each kind; for texts, lists and maps `sizeMax` depends on the schema. */
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
 * Returns the most bytes of a text whose characters have up to `bytesMax`. Without a length, the longest value of the
 * enum counts.
 */
export function textMax(props: JsonSchemaProps, bytesMax: number): number {
  if (props.maxLength !== undefined) return atLeastZero(props.maxLength) * bytesMax;
  if (bytesMax === 1 || props.enum === undefined || props.enum.length === 0) return requestTextMax;
  return props.enum.reduce<number>(
    (longest, value) => (typeof value === "string" ? Math.max(longest, Buffer.byteLength(value)) : longest),
    0,
  );
}

/** Returns how many elements a list can have: each has a comma. */
export function elementsMax({ maxItems }: JsonSchemaProps, element: SizeBounds): number {
  return maxItems === undefined ? Math.floor(requestTextMax / (element.jsonMin + 1)) : atLeastZero(maxItems);
}

/** Returns how many entries a map can have: each has a key with quotes, a colon and a comma. */
export function entriesMax({ maxProperties }: JsonSchemaProps, value: SizeBounds): number {
  return maxProperties === undefined ? Math.floor(requestTextMax / (value.jsonMin + 6)) : atLeastZero(maxProperties);
}

interface Property {
  readonly key: string;
  readonly props: JsonSchemaProps;
  readonly declaration: SizeBounds;
}

/** Returns the bounds of an object: its braces and the required properties that have no default count. */
export function sizeBoundsOfObject(properties: readonly Property[], required: ReadonlySet<string>): SizeBounds {
  let jsonMin = 2;
  for (const { key, props, declaration } of properties) {
    const isThere = required.has(key) && (props.default === undefined || props.default === null);
    if (isThere) jsonMin += Buffer.byteLength(key) + 4 + declaration.jsonMin;
  }
  return { sizeMax: unsized, jsonMin };
}

/**
 * Returns how many values a part of a schema can have in one object. `around` are the limits of the lists and maps that
 * contain the part. If one of them has no limit, the result is the number of values that fit into a request, however
 * they are nested.
 */
export function cardinality(around: readonly (Int64 | undefined)[], value: SizeBounds): number {
  let count = 1;
  for (const limit of around) {
    if (limit === undefined) return Math.floor(requestBytesMax / (value.jsonMin + 1));
    count *= atLeastZero(limit);
  }
  return count;
}
