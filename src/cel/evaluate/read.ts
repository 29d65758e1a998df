/**
 * Reads JSON values as values of expressions: numbers become int or double, and by their declared types texts become
 * timestamps, durations and bytes.
 */
import { durationOf } from "#schema/structural.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { CelType, ObjectType } from "../types.ts";
import { CelError, Double, Duration, type Value } from "../values.ts";
import { intOf } from "./numbers.ts";
import { parseTimestamp } from "./time.ts";
import { remember } from "./remember.ts";
import { isUnique, uniqueList } from "./unique-lists.ts";

/** Reads a JSON value without a declared type. Returns a value that is read already unchanged. */
export function read(value: Value): Value {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value + 0 : new Double(value);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== null) return value;
  return isRawNumber(value) ? readLiteral(value.rawJSON) : value;
}

function readLiteral(literal: string): Value {
  if (!/^-?[0-9]{1,20}$/.test(literal)) return new Double(Number(literal));
  const int = intOf(BigInt(literal));
  return int instanceof CelError ? new Double(Number(literal)) : int;
}

function readDouble(value: Value): Value {
  if (typeof value === "number" || typeof value === "bigint") return new Double(Number(value));
  return isRawNumber(value) ? new Double(Number(value.rawJSON)) : value;
}

function readInt(value: Value): Value {
  const result = read(value);
  if (!(result instanceof Double) || !Number.isInteger(result.value)) return result;
  const int = intOf(BigInt(result.value));
  return int instanceof CelError ? result : int;
}

/** The maximum length of texts whose values are cached. */
const rememberedLengthMax = 64;

/** Returns a timestamp from a cache, since loops read the same texts many times. */
const timestampOf = remember(500, timestampOfText);
const readDurationText = remember(500, durationOfText);

const readTimestamp = (value: Value): Value =>
  typeof value !== "string" ? value : value.length > rememberedLengthMax ? timestampOfText(value) : timestampOf(value);

function timestampOfText(value: string): Value {
  const text = /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value;
  const timestamp = parseTimestamp(text);
  return timestamp === undefined || timestamp instanceof CelError ? value : timestamp;
}

/**
 * Reads base64. Upstream: the schema format accepts the standard alphabet only, but expressions decode the alphabet of
 * URLs. So a value with one of the two characters `+` and `/`, in which they differ, cannot be read.
 */
function readBytes(value: Value): Value {
  if (typeof value !== "string") return value;
  const wrong = value.search(/[+/]/);
  if (wrong === -1) return Buffer.from(value, "base64");
  const text = `Invalid byte formatted string ${value}: illegal base64 data at input byte ${wrong}`;
  // An error in place of a value ends the evaluation like any other error.
  return new CelError(text) as unknown as Value;
}

const readDuration = (value: Value): Value =>
  typeof value !== "string"
    ? value
    : value.length > rememberedLengthMax
      ? durationOfText(value)
      : readDurationText(value);

/**
 * Reads a duration in any form that the schema format accepts: the function `duration` accepts fewer. Returns other
 * texts unchanged.
 */
function durationOfText(text: string): Value {
  const nanoseconds = durationOf(text);
  return nanoseconds === undefined ? text : new Duration(nanoseconds);
}

/** Reads a JSON value as a value of expressions. */
export type Reader = (value: Value) => Value;

const asItIs: Reader = (value) => value;

/**
 * The readers of lists, maps and objects. All expressions about a type share its reader, so that each value is read
 * once for all of them.
 */
const readers = new WeakMap<CelType, Reader>();

/** Returns the reader of values of a declared type. It returns values that do not fit the type unchanged. */
export function readerOf(type: CelType | undefined): Reader {
  if (type === undefined || !isCompound(type)) return makeReader(type);
  let reader = readers.get(type);
  if (reader === undefined) readers.set(type, (reader = makeReader(type)));
  return reader;
}

function makeReader(type: CelType | undefined): Reader {
  switch (type?.kind) {
    case "string":
    case "bool":
      return asItIs;
    case "int":
      return readInt;
    case "double":
      return readDouble;
    case "timestamp":
      return readTimestamp;
    case "duration":
      return readDuration;
    case "bytes":
      return readBytes;
    case "list":
      return type.uniqueBy === undefined
        ? deepReader(readerOf(type.element))
        : uniqueReader(readerOf(type.element), type.uniqueBy);
    case "map":
      return deepReader(readerOf(type.value));
    case "object":
      return objectReader(type);
    default:
      return read;
  }
}

/**
 * Returns a reader of lists and maps. Their elements are read when they are used, except elements whose type JSON does
 * not show: these are read at once, since they may be used where the declared type is not known. The result is cached
 * as long as its source exists.
 */
function deepReader(reader: Reader): Reader {
  if (reader === read || reader === readInt || reader === asItIs) return read;
  return memoize((value) => {
    if (Array.isArray(value)) return (value as readonly Value[]).map(reader);
    // The result is a `Map`, in which keys such as `__proto__` are ordinary keys.
    if (value instanceof Map) return new Map([...(value as ReadonlyMap<Value, Value>)].map(([k, v]) => [k, reader(v)]));
    return new Map(Object.entries(value as { readonly [key: string]: Value }).map(([k, v]) => [k, reader(v)]));
  });
}

/** Returns a reader that reads each list, map or object once, and caches the result as long as its source exists. */
function memoize(make: (value: object) => Value): Reader {
  const cache = new WeakMap<object, Value>();
  return (value) => {
    if (typeof value !== "object" || value === null) return value;
    const before = cache.get(value);
    if (before !== undefined) return before;
    const wrapped = make(value);
    cache.set(value, wrapped);
    return wrapped;
  };
}

const uniqueReader = (reader: Reader, by: readonly string[]): Reader =>
  memoize((value) => {
    const list = value as Value; // the value is JSON, or was read already
    if (!Array.isArray(list) || isUnique(list as readonly Value[])) return list;
    return uniqueList((list as readonly Value[]).map(reader), list as readonly Value[], by);
  });

function objectReader(type: ObjectType): Reader {
  const { converted } = type;
  if (converted === undefined || converted.length === 0) return read;
  const readers = converted.map(({ key, type: declared }) => ({ key, reader: readerOf(declared) }));
  return memoize((value) => {
    // A value that is not JSON was read already.
    if (Object.getPrototypeOf(value) !== Object.prototype) return value as Value;
    const source = value as { readonly [key: string]: Value };
    const copy = Object.assign(Object.create(null) as { [key: string]: Value }, source);
    for (const { key, reader } of readers) if (Object.hasOwn(source, key)) copy[key] = reader(source[key]!);
    return copy;
  });
}

/**
 * Returns the reader of a value of which only a part is used. It returns lists, maps and objects unchanged, since their
 * parts are read by their own types.
 */
export const partReaderOf = (type: CelType | undefined): Reader => (isCompound(type) ? read : readerOf(type));

const isCompound = (type: CelType | undefined): boolean =>
  type?.kind === "list" || type?.kind === "map" || type?.kind === "object";

/**
 * Returns the reader for a value that is used as a whole, in addition to `partReaderOf`; `undefined`, in most cases, if
 * the value needs none. The reader of the type is made at the first call.
 */
export function wholeReaderOf(type: CelType | undefined): Reader | undefined {
  if (type === undefined || !isCompound(type) || isPlain(type)) return undefined;
  let reader: Reader | undefined;
  return (value) => {
    reader ??= readerOf(type);
    return reader(value);
  };
}

/** Whether JSON shows the type of a value and of all its parts. */
function isPlain(type: CelType): boolean {
  switch (type.kind) {
    case "list":
      return type.uniqueBy === undefined && isPlain(type.element);
    case "map":
      return isPlain(type.value);
    case "object":
      return type.converted === undefined || type.converted.length === 0;
    default:
      return type.kind !== "double" && type.kind !== "bytes" && type.kind !== "timestamp" && type.kind !== "duration";
  }
}
