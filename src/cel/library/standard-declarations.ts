/**
 * Declarations of the functions of the language itself; `standard.ts` adds the implementations by the ids of overloads.
 * The order of overloads matters: for an argument of unknown type, the first overload that fits is used. Source: the
 * language definition. The ids, to which costs refer, are cel-go's.
 */
import { operators } from "../ast.ts";
import type { FunctionDeclaration, Library, Overload } from "../functions.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  parameter,
  string,
  timestamp,
  typeOf,
  uint,
} from "../types.ts";
import { TypeValue } from "../values.ts";

const A = parameter("A");
const B = parameter("B");
const listOfA = listOf(A);
const mapOfAB = mapOf(A, B);

const plain = (id: string, args: readonly CelType[], result: CelType): Overload => ({
  id,
  isMember: false,
  args,
  result,
});
const member = (...overload: Parameters<typeof plain>): Overload => ({ ...plain(...overload), isMember: true });

const declare = (name: string, ...overloads: readonly Overload[]): FunctionDeclaration => ({ name, overloads });

const logic: readonly FunctionDeclaration[] = [
  declare(operators.conditional, plain("conditional", [bool, A, A], A)),
  declare(operators.and, plain("logical_and", [bool, bool], bool)),
  declare(operators.or, plain("logical_or", [bool, bool], bool)),
  declare(operators.not, plain("logical_not", [bool], bool)),
  declare(operators.notStrictlyFalse, plain("not_strictly_false", [bool], bool)),
  declare(operators.equals, plain("equals", [A, A], bool)),
  declare(operators.notEquals, plain("not_equals", [A, A], bool)),
];

/** The types with the names that ids of overloads use. */
const spelled: readonly (readonly [string, CelType])[] = [
  ["bool", bool],
  ["int64", int],
  ["uint64", uint],
  ["double", double],
  ["string", string],
  ["bytes", bytes],
  ["timestamp", timestamp],
  ["duration", duration],
];
const idOf = (type: CelType): string => spelled.find(([, other]) => other === type)![0];
const isNumber = (type: CelType): boolean => type === int || type === uint || type === double;

/** Declares comparisons of two values of one type, and of two numbers of different types. */
function ordering(name: string, prefix: string): FunctionDeclaration {
  const overloads = spelled.flatMap(([id, type]) => [
    plain(`${prefix}_${id}`, [type, type], bool),
    ...spelled
      .filter(([, other]) => other !== type && isNumber(type) && isNumber(other))
      .map(([otherId, other]) => plain(`${prefix}_${id}_${otherId}`, [type, other], bool)),
  ]);
  return { name, overloads };
}

const orderings: readonly FunctionDeclaration[] = [
  ordering(operators.less, "less"),
  ordering(operators.lessEquals, "less_equals"),
  ordering(operators.greater, "greater"),
  ordering(operators.greaterEquals, "greater_equals"),
];

/** Declares an operator whose two operands and result have the same type, for each of the types. */
const closed = (prefix: string, types: readonly CelType[]): readonly Overload[] =>
  types.map((type) => plain(`${prefix}_${idOf(type)}`, [type, type], type));

const arithmetic: readonly FunctionDeclaration[] = [
  declare(
    operators.add,
    ...closed("add", [bytes, double]),
    plain("add_duration_duration", [duration, duration], duration),
    plain("add_duration_timestamp", [duration, timestamp], timestamp),
    plain("add_timestamp_duration", [timestamp, duration], timestamp),
    ...closed("add", [int]),
    plain("add_list", [listOfA, listOfA], listOfA),
    ...closed("add", [string, uint]),
  ),
  declare(
    operators.subtract,
    ...closed("subtract", [double]),
    plain("subtract_duration_duration", [duration, duration], duration),
    ...closed("subtract", [int]),
    plain("subtract_timestamp_duration", [timestamp, duration], timestamp),
    plain("subtract_timestamp_timestamp", [timestamp, timestamp], duration),
    ...closed("subtract", [uint]),
  ),
  declare(operators.multiply, ...closed("multiply", [double, int, uint])),
  declare(operators.divide, ...closed("divide", [double, int, uint])),
  declare(operators.modulo, ...closed("modulo", [int, uint])),
  declare(operators.negate, plain("negate_double", [double], double), plain("negate_int64", [int], int)),
];

const collections: readonly FunctionDeclaration[] = [
  declare(operators.index, plain("index_list", [listOfA, int], A), plain("index_map", [mapOfAB, A], B)),
  declare(operators.in, plain("in_list", [A, listOfA], bool), plain("in_map", [A, mapOfAB], bool)),
  declare(
    "size",
    plain("size_bytes", [bytes], int),
    member("bytes_size", [bytes], int),
    plain("size_list", [listOfA], int),
    member("list_size", [listOfA], int),
    plain("size_map", [mapOfAB], int),
    member("map_size", [mapOfAB], int),
    plain("size_string", [string], int),
    member("string_size", [string], int),
  ),
];

/** Declares the conversion `name(x)` from each of the types. */
function conversion(name: string, result: CelType, from: readonly CelType[]): FunctionDeclaration {
  return { name, overloads: from.map((type) => plain(`${idOf(type)}_to_${idOf(result)}`, [type], result)) };
}

const conversions: readonly FunctionDeclaration[] = [
  declare("type", plain("type", [A], typeOf(A))),
  declare("dyn", plain("to_dyn", [A], dyn)),
  conversion("bool", bool, [bool, string]),
  conversion("bytes", bytes, [bytes, string]),
  conversion("double", double, [double, int, string, uint]),
  conversion("duration", duration, [duration, int, string]),
  conversion("int", int, [int, double, duration, string, timestamp, uint]),
  conversion("string", string, [string, bool, bytes, double, duration, int, timestamp, uint]),
  conversion("timestamp", timestamp, [timestamp, int, string]),
  conversion("uint", uint, [uint, double, int, string]),
];

const strings: readonly FunctionDeclaration[] = [
  declare("contains", member("contains_string", [string, string], bool)),
  declare("endsWith", member("ends_with_string", [string, string], bool)),
  declare("startsWith", member("starts_with_string", [string, string], bool)),
  declare("matches", plain("matches", [string, string], bool), member("matches_string", [string, string], bool)),
];

/** Declares a function for a part of a timestamp, in UTC or in a given zone; with `ofDuration`, also for durations. */
function timePart(name: string, id: string, zoneSuffix: string, ofDuration?: string): FunctionDeclaration {
  const overloads = [
    member(id, [timestamp], int),
    member(`${id}${zoneSuffix}`, [timestamp, string], int),
    ...(ofDuration === undefined ? [] : [member(ofDuration, [duration], int)]),
  ];
  return { name, overloads };
}

const times: readonly FunctionDeclaration[] = [
  timePart("getFullYear", "timestamp_to_year", "_with_tz"),
  timePart("getMonth", "timestamp_to_month", "_with_tz"),
  timePart("getDayOfYear", "timestamp_to_day_of_year", "_with_tz"),
  timePart("getDayOfMonth", "timestamp_to_day_of_month", "_with_tz"),
  timePart("getDate", "timestamp_to_day_of_month_1_based", "_with_tz"),
  timePart("getDayOfWeek", "timestamp_to_day_of_week", "_with_tz"),
  timePart("getHours", "timestamp_to_hours", "_with_tz", "duration_to_hours"),
  timePart("getMinutes", "timestamp_to_minutes", "_with_tz", "duration_to_minutes"),
  timePart("getSeconds", "timestamp_to_seconds", "_tz", "duration_to_seconds"),
  timePart("getMilliseconds", "timestamp_to_milliseconds", "_with_tz", "duration_to_milliseconds"),
];

const types: readonly (readonly [string, CelType])[] = [
  ["bool", bool],
  ["bytes", bytes],
  ["double", double],
  ["google.protobuf.Duration", duration],
  ["google.protobuf.Timestamp", timestamp],
  ["int", int],
  // Errors show the type parameters.
  ["list", listOfA],
  ["map", mapOfAB],
  ["null_type", nullType],
  ["string", string],
  ["type", typeOf()],
  ["uint", uint],
];

/** The operators, the conversions, the functions on strings, bytes, times and collections, and the names of types. */
export const standardDeclarations: Library = {
  name: "cel.lib.std",
  functions: [...logic, ...orderings, ...arithmetic, ...collections, ...conversions, ...strings, ...times],
  constants: new Map(types.map(([name, type]) => [name, { type: typeOf(type), value: new TypeValue(name) }])),
};
