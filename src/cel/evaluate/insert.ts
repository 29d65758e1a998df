/** Adds entries to a map, for comprehensions that build maps. */
import type { EvaluationContext } from "../functions.ts";
import { CelError, type Value } from "../values.ts";
import { keyText } from "./access.ts";
import { isMap } from "./kinds.ts";
import { mapEntries, mapGet } from "./maps.ts";

/**
 * Adds an entry to `map`; without `value`, adds the entries of the map `key`. Returns `map`, or an error if a key
 * exists already.
 */
export function insertInto(
  map: Map<Value, Value>,
  key: Value,
  value: Value | undefined,
  context: EvaluationContext,
): Value | CelError {
  if (value !== undefined) return insertOne(map, key, value, context) ?? map;
  if (!isMap(key)) return new CelError("no such overload");
  for (const [one, other] of mapEntries(key)) {
    const error = insertOne(map, one, other, context);
    if (error !== undefined) return error;
  }
  return map;
}

const insertWork = 10;

function insertOne(map: Map<Value, Value>, key: Value, value: Value, context: EvaluationContext): CelError | undefined {
  context.work(insertWork);
  if (mapGet(map, key, context) !== undefined) {
    return new CelError(`insert failed: key ${keyText(key)} already exists`);
  }
  map.set(key, value);
  return undefined;
}
