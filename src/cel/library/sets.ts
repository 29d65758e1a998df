/** The sets extension: `sets.contains`, `sets.equivalent`, `sets.intersects` on lists. */
import { equals } from "../evaluate/equality.ts";
import { isList, sizeOf } from "../evaluate/kinds.ts";
import { read } from "../evaluate/read.ts";
import type { CallCost, EvaluationContext, FunctionDeclaration, Library } from "../functions.ts";
import { bool, listOf, parameter } from "../types.ts";
import type { Value } from "../values.ts";
import { plainFunction } from "./declare.ts";

type Lists = readonly Value[];

function has(list: Lists, value: Value, context: EvaluationContext): boolean {
  context.work(2 * list.length);
  return list.some((one) => equals(read(one), read(value), context));
}

const contains = (list: Lists, other: Lists, context: EvaluationContext): boolean =>
  other.every((one) => has(list, one, context));

/** Returns the cost of a call that compares each pair of elements `factor` times. */
const pairs = (factor: number): CallCost => ({
  actual: ([list, other]) => 1 + sizeOf(list!) * sizeOf(other!) * factor,
  estimate: ([list, other]) => ({
    cost: { min: 1 + list!.min * other!.min * factor, max: 1 + list!.max * other!.max * factor },
  }),
});

const lists = [listOf(parameter("T")), listOf(parameter("T"))];

const onLists = (
  name: string,
  factor: number,
  holds: (list: Lists, other: Lists, context: EvaluationContext) => boolean,
): FunctionDeclaration =>
  plainFunction(
    `sets.${name}`,
    `list_sets_${name}_list`,
    lists,
    bool,
    ([list, other], context) => (isList(list) && isList(other) ? holds(list, other, context) : undefined),
    pairs(factor),
  );

export const setsLibrary: Library = {
  name: "cel.lib.ext.sets",
  functions: [
    onLists("contains", 1, contains),
    onLists(
      "equivalent",
      2,
      (list, other, context) => contains(list, other, context) && contains(other, list, context),
    ),
    onLists("intersects", 1, (list, other, context) => list.some((one) => has(other, one, context))),
  ],
};
