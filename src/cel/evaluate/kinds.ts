/** Finds the type and the size of a value. */
import { codePointCount } from "#std/code-points.ts";
import { CelError, Double, Duration, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from "../values.ts";
import { typeName } from "../types.ts";
import type { Int } from "./numbers.ts";

/** A map: a `Map` that an expression made, or a JSON object. */
export type MapValue = ReadonlyMap<Value, Value> | { readonly [key: string]: Value };

export const isInt = (value: unknown): value is Int => typeof value === "number" || typeof value === "bigint";

export const isList = (value: unknown): value is readonly Value[] => Array.isArray(value);

/** Whether a value is a map that an expression made, or a JSON object. */
export function isMap(value: Value | CelError): value is MapValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Map.prototype || prototype === null;
}

/** Returns the name of a value's type without parameters, such as `int`, `list` or `google.protobuf.Timestamp`. */
export function kindOf(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
    case "bigint":
      return "int";
    default:
      return kindOfObject(value);
  }
}

function kindOfObject(value: Value): string {
  if (value === null) return "null_type";
  if (isList(value)) return "list";
  if (value instanceof Double) return "double";
  if (value instanceof Uint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof TypeValue) return "type";
  if (value instanceof Optional) return "optional_type";
  if (value instanceof Opaque) return typeName(value.type);
  return "map";
}

const implementations: Readonly<Record<string, string>> = {
  null_type: "types.Null",
  bool: "types.Bool",
  int: "types.Int",
  uint: "types.Uint",
  double: "types.Double",
  string: "types.String",
  bytes: "types.Bytes",
  list: "*types.baseList",
  map: "*types.baseMap",
  type: "*types.Type",
  optional_type: "*types.Optional",
  "google.protobuf.Timestamp": "types.Timestamp",
  "google.protobuf.Duration": "types.Duration",
};

/** Returns the name that the reference's implementation has for a value's type; some of its errors show this name. */
export const implementationOf = (value: Value): string => implementations[kindOf(value)] ?? kindOf(value);

/**
 * Returns the size by which costs are counted: code points, bytes, elements or entries; 1 for all other values and for
 * errors.
 */
export function sizeOf(value: Value | CelError): number {
  if (typeof value === "string") return codePointCount(value);
  if (typeof value !== "object" || value === null) return 1;
  if (isList(value) || value instanceof Uint8Array) return value.length;
  if (!isMap(value)) return 1;
  return mapSize(value);
}

type JsonObject = { readonly [key: string]: Value };

/** Returns the number of entries. */
export const mapSize = (map: MapValue): number => (map instanceof Map ? map.size : jsonKeys(map as JsonObject).length); // a JSON object

/** The keys of large objects, which are listed once: loops need the keys, and costs their number, many times. */
const knownKeys = new WeakMap<JsonObject, readonly string[]>();
const largeObject = 16;

/** Returns the keys of a JSON object that have values. */
export function jsonKeys(object: JsonObject): readonly string[] {
  const cachedKeys = knownKeys.get(object);
  if (cachedKeys !== undefined) return cachedKeys;
  const all = Object.keys(object);
  const keys = all.every((key) => object[key] !== undefined) ? all : all.filter((key) => object[key] !== undefined);
  if (all.length > largeObject) knownKeys.set(object, keys);
  return keys;
}
