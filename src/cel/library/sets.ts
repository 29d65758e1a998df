/** The sets extension: `sets.contains`, `sets.equivalent`, `sets.intersects` on lists. */
import { equals } from "../evaluate/equality.ts";
import { isList, sizeOf } from "../evaluate/kinds.ts";
import { read } from "../evaluate/read.ts";
import type { CallCost, EvaluationContext, Library, Overload } from "../functions.ts";
import { bool, listOf, parameter } from "../types.ts";
import type { Value } from "../values.ts";
import { plain } from "./declare.ts";

type Lists = readonly Value[];

function has(list: Lists, value: Value, context: EvaluationContext): boolean {
  context.work(2 * list.length);
  return list.some((one) => equals(read(one), read(value), context));
}

const contains = (list: Lists, other: Lists, context: EvaluationContext): boolean =>
  other.every((one) => has(list, one, context));

const onLists =
  (holds: (list: Lists, other: Lists, context: EvaluationContext) => boolean): NonNullable<Overload["call"]> =>
  ([list, other], context) =>
    isList(list) && isList(other) ? holds(list, other, context) : undefined;

/** Returns the cost of a call that compares each pair of elements `factor` times. */
const pairs = (factor: number): CallCost => ({
  actual: ([list, other]) => 1 + sizeOf(list!) * sizeOf(other!) * factor,
  estimate: ([list, other]) => ({
    cost: { min: 1 + list!.min * other!.min * factor, max: 1 + list!.max * other!.max * factor },
  }),
});

const lists = [listOf(parameter("T")), listOf(parameter("T"))];

const declareSetFunction = (name: string, call: NonNullable<Overload["call"]>, factor: number) => ({
  name: `sets.${name}`,
  overloads: [plain(`list_sets_${name}_list`, lists, bool, call, pairs(factor))],
});

export const setsLibrary: Library = {
  name: "cel.lib.ext.sets",
  functions: [
    declareSetFunction("contains", onLists(contains), 1),
    declareSetFunction(
      "equivalent",
      onLists((list, other, context) => contains(list, other, context) && contains(other, list, context)),
      2,
    ),
    declareSetFunction(
      "intersects",
      onLists((list, other, context) => list.some((one) => has(other, one, context))),
      1,
    ),
  ],
};
