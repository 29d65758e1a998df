/** The function that macros with two variables call: insertion into a map. The parser has the macros. */
import { insertInto } from "../evaluate/insert.ts";
import { isMap, mapSize } from "../evaluate/kinds.ts";
import { mapEntries } from "../evaluate/maps.ts";
import type { EvaluationContext, Library } from "../functions.ts";
import { mapOf, parameter } from "../types.ts";
import type { CelError, Value } from "../values.ts";
import { plain } from "./declare.ts";

const K = parameter("K");
const V = parameter("V");
const map = mapOf(K, V);

/** Inserts into a copy of a map. Loops that only collect do not call this function: they change the map in place. */
function insert(args: readonly Value[], context: EvaluationContext): Value | CelError | undefined {
  const [into, key, value] = args;
  if (!isMap(into!)) return undefined;
  context.work(20 * mapSize(into));
  const copy = new Map(mapEntries(into));
  return insertInto(copy, key!, value, context);
}

export const comprehensionsLibrary: Library = {
  name: "cel.lib.ext.comprehensions",
  functions: [
    {
      name: "cel.@mapInsert",
      overloads: [
        plain("@mapInsert_map_map", [map, map], map, insert),
        plain("@mapInsert_map_key_value", [map, K, V], map, insert),
      ],
    },
  ],
};
