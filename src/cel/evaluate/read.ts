/**
 * Reads JSON where it stands: numbers become int or double, and where a type is declared texts become timestamps,
 * durations and bytes.
 */
import { isRawNumber } from "#std/raw-number.ts";
import type { CelType } from "../types.ts";
import { CelError, Double, type Value } from "../values.ts";
import { intOf } from "./numbers.ts";
import { parseDuration, parseTimestamp } from "./time.ts";

/** A value of JSON, or one that is read already, without a declared type. */
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
  const found = read(value);
  if (!(found instanceof Double) || !Number.isInteger(found.value)) return found;
  const int = intOf(BigInt(found.value));
  return int instanceof CelError ? found : int;
}

function readTimestamp(value: Value): Value {
  if (typeof value !== "string") return value;
  const text = /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value;
  const found = parseTimestamp(text);
  return found === undefined || found instanceof CelError ? value : found;
}

const readBytes = (value: Value): Value => (typeof value === "string" ? Buffer.from(value, "base64") : value);

const readDuration = (value: Value): Value => (typeof value === "string" ? (parseDuration(value) ?? value) : value);

type Reader = (value: Value) => Value;

const asItIs: Reader = (value) => value;

/** How values of a declared type are read. Values that do not fit it are left as they are. */
export function readerOf(type: CelType | undefined): Reader {
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
      return deepReader(readerOf(type.element));
    case "map":
      return deepReader(readerOf(type.value));
    default:
      return read;
  }
}

/**
 * The elements of lists and maps are read when they are used; only those whose type JSON does not show are read at
 * once, since they may be used where the declared type is not known. What was read is kept as long as its source.
 */
function deepReader(reader: Reader): Reader {
  if (reader === read || reader === readInt || reader === asItIs) return read;
  const known = new WeakMap<object, Value>();
  const readAll = (value: object): Value => {
    if (Array.isArray(value)) return (value as readonly Value[]).map(reader);
    // Keys such as `__proto__` are ordinary ones: no assignment to an object.
    if (value instanceof Map) return new Map([...(value as ReadonlyMap<Value, Value>)].map(([k, v]) => [k, reader(v)]));
    return new Map(Object.entries(value as { readonly [key: string]: Value }).map(([k, v]) => [k, reader(v)]));
  };
  return (value) => {
    if (typeof value !== "object" || value === null) return value;
    const before = known.get(value);
    if (before !== undefined) return before;
    const made = readAll(value);
    known.set(value, made);
    return made;
  };
}
