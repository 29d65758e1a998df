/** Kubernetes' functions on lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`. */
import { compare, equals } from "../evaluate/equality.ts";
import { isList, kindOf } from "../evaluate/kinds.ts";
import { binaryOperators } from "../evaluate/operators.ts";
import { read } from "../evaluate/read.ts";
import type { CallCost, EvaluationContext, FunctionDeclaration, Library, Overload } from "../functions.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  int,
  listOf,
  parameter,
  string,
  timestamp,
  uint,
} from "../types.ts";
import { CelError, Double, Duration, Uint, type Value } from "../values.ts";
import { countElements, elementsCost, member, memberFunction } from "./declare.ts";

type Call = NonNullable<Overload["call"]>;
type Result = Value | CelError | undefined;

const noOverload = (): CelError => new CelError("no such overload");

/** Whether an order is that of a larger value. Upstream: values without an order are not an error here. */
const isAbove = (order: ReturnType<typeof compare>): boolean => typeof order === "number" && order > 0;

/** Whether the first element can be compared; true for an empty list. */
const isComparable = (list: readonly Value[]): boolean =>
  list.length === 0 || compare(read(list[0]!), read(list[0]!)) !== undefined;

const isSorted: Call = ([list], context) => {
  if (!isList(list) || !isComparable(list)) return undefined;
  countElements(list, context);
  for (let at = 1; at < list.length; at++) {
    const order = compare(read(list[at - 1]!), read(list[at]!));
    if (isAbove(order)) return false;
  }
  return true;
};

/** Returns the function that finds the smallest element, or, if `sign` is -1, the largest one. */
const extreme =
  (name: string, sign: 1 | -1): Call =>
  ([list], context) => {
    if (!isList(list) || !isComparable(list)) return undefined;
    countElements(list, context);
    if (list.length === 0) return new CelError(`${name} called on empty list`);
    let best = read(list[0]!);
    for (const one of list) {
      const value = read(one);
      if (isAbove(sign === 1 ? compare(best, value) : compare(value, best))) best = value;
    }
    return best;
  };

const sum =
  (zero: Value): Call =>
  ([list], context) => {
    if (!isList(list) || (list.length > 0 && kindOf(read(list[0]!)) !== kindOf(zero))) return undefined;
    countElements(list, context);
    const add = binaryOperators.get("_+_")!;
    let total: Result = list.length === 0 ? zero : read(list[0]!);
    for (const one of list.slice(1)) {
      total = add(total, read(one), context) ?? noOverload();
      if (total instanceof CelError) return total;
    }
    return total;
  };

function find(list: readonly Value[], wanted: Value, order: "first" | "last", context: EvaluationContext): number {
  countElements(list, context);
  const isWanted = (one: Value): boolean => equals(read(one), wanted, context);
  return order === "first" ? list.findIndex(isWanted) : list.findLastIndex(isWanted);
}

const indexOf =
  (order: "first" | "last"): Call =>
  ([list, wanted], context) =>
    isList(list) ? find(list, wanted!, order, context) : undefined;

/** The cost of one traversal of the list and the texts in it. */
const cost: CallCost = { actual: ([list]) => elementsCost(list!) };

const summable: readonly (readonly [string, CelType, Value])[] = [
  ["int", int, 0],
  ["uint", uint, new Uint(0n)],
  ["double", double, new Double(0)],
  ["duration", duration, new Duration(0n)],
];

const comparable: readonly (readonly [string, CelType])[] = [
  ...summable.map(([name, type]) => [name, type] as const),
  ["bool", bool],
  ["timestamp", timestamp],
  ["string", string],
  ["bytes", bytes],
];

/** Declares a function with an overload for each type of elements that can be compared. */
const ofComparable = (name: string, overload: (id: string, type: CelType) => Overload): FunctionDeclaration => ({
  name,
  overloads: comparable.map(([id, type]) => overload(id, type)),
});

const T = parameter("T");

export const listsLibrary: Library = {
  name: "k8s.lists",
  functions: [
    ofComparable("isSorted", (id, type) => member(`list_${id}_is_sorted_bool`, [listOf(type)], bool, isSorted, cost)),
    {
      name: "sum",
      overloads: summable.map(([id, type, zero]) =>
        member(`list_${id}_sum_${id}`, [listOf(type)], type, sum(zero), cost),
      ),
    },
    ofComparable("min", (id, type) => member(`list_${id}_min_${id}`, [listOf(type)], type, extreme("min", 1), cost)),
    ofComparable("max", (id, type) => member(`list_${id}_max_${id}`, [listOf(type)], type, extreme("max", -1), cost)),
    memberFunction("indexOf", "list_a_index_of_int", [listOf(T), T], int, indexOf("first"), cost),
    memberFunction("lastIndexOf", "list_a_last_index_of_int", [listOf(T), T], int, indexOf("last"), cost),
  ],
};
