/** The library of optional values: `optional.of`, `optional.none`, `optional.ofNonZeroValue` and their functions. */
import { sizeOf } from "../evaluate/kinds.ts";
import { isMap } from "../evaluate/kinds.ts";
import { operators } from "../ast.ts";
import type { Library, Overload } from "../functions.ts";
import { bool, type CelType, int, listOf, mapOf, opaque, optionalOf, parameter, typeOf } from "../types.ts";
import { CelError, Double, Duration, Optional, Timestamp, TypeValue, Uint, type Value } from "../values.ts";
import { memberFunction, plainFunction } from "./declare.ts";

const V = parameter("V");
const optionalV = optionalOf(V);
const listV = listOf(V);
const mapKV = mapOf(parameter("K"), V);
const none = new Optional(undefined);

/** Returns the declaration of an operator, which the evaluator implements. */
const operator = (id: string, args: readonly CelType[]): Overload => ({ id, isMember: false, args, result: optionalV });

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === "") return true;
  if (value instanceof Double || value instanceof Uint) return Number(value.value) === 0;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  // The zero time is the beginning of the year 1.
  if (value instanceof Timestamp)
    return value.seconds === -62_135_596_800n && value.nanoseconds % 1_000_000_000n === 0n;
  if (Array.isArray(value) || value instanceof Uint8Array || isMap(value)) return sizeOf(value) === 0;
  return false;
}

export const optionalsLibrary: Library = {
  name: "cel.lib.optional",
  constants: new Map([
    ["optional_type", { type: typeOf(opaque("optional_type")), value: new TypeValue("optional_type") }],
  ]),
  functions: [
    {
      name: operators.optionalIndex,
      overloads: [
        operator("list_optindex_optional_int", [listV, int]),
        operator("optional_list_optindex_optional_int", [optionalOf(listV), int]),
        operator("map_optindex_optional_value", [mapKV, parameter("K")]),
        operator("optional_map_optindex_optional_value", [optionalOf(mapKV), parameter("K")]),
      ],
    },
    {
      name: operators.index,
      overloads: [
        operator("optional_list_index_int", [optionalOf(listV), int]),
        operator("optional_map_index_value", [optionalOf(mapKV), parameter("K")]),
      ],
    },
    plainFunction("optional.of", "optional_of", [V], optionalV, ([value]) => new Optional(value!)),
    plainFunction("optional.ofNonZeroValue", "optional_ofNonZeroValue", [V], optionalV, ([value]) =>
      isZero(value!) ? none : new Optional(value!),
    ),
    plainFunction("optional.none", "optional_none", [], optionalV, () => none),
    memberFunction("value", "optional_value", [optionalV], V, ([optional]) =>
      optional instanceof Optional ? (optional.value ?? new CelError("optional.none() dereference")) : undefined,
    ),
    memberFunction("hasValue", "optional_hasValue", [optionalV], bool, ([optional]) =>
      optional instanceof Optional ? optional.value !== undefined : undefined,
    ),
    memberFunction("or", "optional_or_optional", [optionalV, optionalV], optionalV, ([optional, other]) => {
      if (!(optional instanceof Optional && other instanceof Optional)) return undefined;
      return optional.value === undefined ? other : optional;
    }),
    memberFunction("orValue", "optional_orValue_value", [optionalV, V], V, ([optional, other]) =>
      optional instanceof Optional ? (optional.value ?? other!) : undefined,
    ),
  ],
};
