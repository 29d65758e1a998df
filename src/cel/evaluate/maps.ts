/** Reads maps, which are `Map` objects of expressions or JSON objects, by their own keys only. */
import type { EvaluationContext } from "../functions.ts";
import { Double, Uint, type Value } from "../values.ts";
import { jsonKeys, type MapValue } from "./kinds.ts";
import { intOf } from "./numbers.ts";
import { read } from "./read.ts";
import { CelError } from "../values.ts";

type Json = { readonly [key: string]: Value };

/** Whether every JavaScript object inherits this key. */
const isInherited = (key: string): boolean => key in Object.prototype;

/** Returns the value of an own property. */
function ownField(object: Json, key: string): Value | undefined {
  const value = object[key];
  if (value === undefined || (isInherited(key) && !Object.hasOwn(object, key))) return undefined;
  return value;
}

/** Returns the value of a key; `undefined` if it is absent. A numeric key is found by its value. */
export function mapGet(map: MapValue, key: Value, context: EvaluationContext): Value | undefined {
  if (!(map instanceof Map)) {
    // A map that is not a `Map` is a JSON object.
    const value = typeof key === "string" ? ownField(map as Json, key) : undefined;
    return value === undefined ? undefined : read(value);
  }
  const entries = map as ReadonlyMap<Value, Value>;
  const plain = plainKey(key);
  const entry = entries.get(plain);
  if (entry !== undefined || typeof plain === "string" || typeof plain === "boolean") return read0(entry);
  return read0(scan(entries, key, context));
}

const read0 = (value: Value | undefined): Value | undefined => (value === undefined ? undefined : read(value));

/** Returns the key that a map uses for a number: an int, if the number is one. */
function plainKey(key: Value): Value {
  if (typeof key !== "object" || key === null) return key;
  if (key instanceof Uint) {
    const int = intOf(key.value);
    return int instanceof CelError ? key : int;
  }
  if (key instanceof Double && Number.isInteger(key.value)) {
    const int = intOf(BigInt(key.value));
    return int instanceof CelError ? key : int;
  }
  return key;
}

/** Returns the value of a uint or double key. These keys are objects, so they are compared one by one. */
function scan(entries: ReadonlyMap<Value, Value>, key: Value, context: EvaluationContext): Value | undefined {
  const number = numberOf(key);
  if (number === undefined) return undefined;
  context.work(2 * entries.size);
  // A double key of the map is found by doubles only; a double that is looked up finds every number.
  const canFind = (other: Value): boolean =>
    other instanceof Uint || (other instanceof Double && key instanceof Double);
  for (const [other, value] of entries) if (canFind(other) && numberOf(other) == number) return value;
  return undefined;
}

function numberOf(key: Value): number | bigint | undefined {
  if (typeof key === "number" || typeof key === "bigint") return key;
  return key instanceof Uint || key instanceof Double ? key.value : undefined;
}

/** Returns the keys in the order of the map; those of a JSON object in the order of its properties. */
export const mapKeys = (map: MapValue): readonly Value[] =>
  // A map that is not a `Map` is a JSON object.
  map instanceof Map ? [...(map as ReadonlyMap<Value, Value>).keys()] : jsonKeys(map as Json);

/** Whether `holds` is true for every entry. It is called in any order, until it returns false. */
export function everyEntry(map: MapValue, holds: (key: Value, value: Value) => boolean): boolean {
  if (map instanceof Map) {
    for (const [key, value] of map as ReadonlyMap<Value, Value>) if (!holds(key, read(value))) return false;
    return true;
  }
  const object = map as Json; // a map that is not a `Map` is a JSON object
  return jsonKeys(object).every((key) => holds(key, read(object[key]!)));
}

/** Yields the keys and values of a map, in its own order. */
export function* mapEntries(map: MapValue): Generator<readonly [Value, Value]> {
  if (map instanceof Map) {
    for (const [key, value] of map as ReadonlyMap<Value, Value>) yield [key, read(value)];
  } else {
    const object = map as Json; // a map that is not a `Map` is a JSON object
    for (const key of jsonKeys(object)) yield [key, read(object[key]!)];
  }
}
