/**
 * Declarations of functions that expressions can call, and libraries of functions. Operators are functions too
 * (`operators`).
 */
import type { CelType } from "./types.ts";
import type { CelError, Value } from "./values.ts";

/**
 * The evaluation for which a function is called. The function adds its cost and work here, beyond those of the call.
 */
export interface EvaluationContext {
  /** Adds cost. If this exceeds the budget, the evaluation ends with an error. */
  spend(cost: number): void;
  /**
   * Counts work that costs do not show: characters or elements that are traversed or copied, in numbers that costs do
   * not reflect. If this exceeds the limit, the evaluation ends as after an exceeded budget.
   */
  work(units: number): void;
}

/** An overload of a function. */
export interface Overload {
  /** Unique id, such as `add_int64` or `string_contains`. Costs and checked trees refer to it. */
  readonly id: string;
  /** Whether it is called as `args[0].name(…)`. */
  readonly isMember: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /**
   * Calls the function with the values of the arguments, none of which is an error. If the types of the expression are
   * not known, values may have any type; the function returns `undefined` if they do not fit this overload. Absent for
   * operators that the evaluator implements.
   */
  readonly call?: (args: readonly Value[], context: EvaluationContext) => Value | CelError | undefined;
  /** The cost of a call beyond that of its arguments; 1 by default. */
  readonly cost?: CallCost;
}

/**
 * The cost of a call: at run time from its values, and before from the sizes that types and schemas allow. The size of
 * a string is its length in code points, that of a list or map its number of elements; other values have size 1.
 */
export interface CallCost {
  actual(args: readonly Value[], result: Value | CelError): number;
  /** Estimates the cost of a call; left out if `cost/calls.ts` has a rule for it. */
  estimate?(sizes: readonly SizeRange[]): CallEstimate;
}

/** The bounds for the cost of a call and for the size of its result. */
interface CallEstimate {
  readonly cost: SizeRange;
  /** Left out: the size is as the type of the result allows. */
  readonly resultSize?: SizeRange;
}

/** The bounds for a size or a cost; `max` may be infinite. */
export interface SizeRange {
  readonly min: number;
  readonly max: number;
}

/** A function or member function with all its overloads. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A set of functions and constants that are added to an environment together. */
export interface Library {
  /** The name of the library, such as `cel.lib.ext.strings`. */
  readonly name: string;
  readonly functions: readonly FunctionDeclaration[];
  /** The types and values with names, such as `int` or `optional_type`. */
  readonly constants?: ReadonlyMap<string, { readonly type: CelType; readonly value: Value }>;
}
