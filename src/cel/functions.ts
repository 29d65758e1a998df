/** Functions that expressions can call, and libraries of them. Operators are functions too (`operators`). */
import type { CelType } from "./types.ts";
import type { CelError, Value } from "./values.ts";

/** An evaluation passes this to functions that count more than their call. */
export interface EvaluationContext {
  /** Adds cost. Once the budget is over, the evaluation ends with an error. */
  spend(cost: number): void;
  /**
   * Counts what costs do not show: characters or elements that are walked or copied, far beyond what costs are counted
   * for. Ends the evaluation as an exceeded budget does.
   */
  work(units: number): void;
}

/** One form of a function. */
export interface Overload {
  /** Unique: `add_int64`, `string_contains`. Costs and checked trees name it. */
  readonly id: string;
  /** Called as `args[0].name(…)`. */
  readonly isMember: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /**
   * Called with the values of the arguments, none of them an error, of any types where the expression is not fully typed:
   * `undefined` says that they do not fit this overload. Absent of operators that the evaluator knows itself.
   */
  readonly call?: (args: readonly Value[], context: EvaluationContext) => Value | CelError | undefined;
  /**
   * A call costs this beyond the evaluation of its arguments; default 1. `size` is a string's length in code points, a
   * list's or map's number of elements, 1 otherwise.
   */
  readonly cost?: CallCost;
}

/** The cost of a call, at run time from its values, and before from the sizes that types and schemas allow. */
export interface CallCost {
  actual(args: readonly Value[], result: Value | CelError): number;
  /** Estimates the cost of a call; left out where `cost/calls.ts` knows it. */
  estimate?(sizes: readonly SizeRange[]): CallEstimate;
}

/** It says what a call may cost at most and at least, and how large its result may be. */
interface CallEstimate {
  readonly cost: SizeRange;
  /** Left out: as the result's type allows. */
  readonly resultSize?: SizeRange;
}

/** Sizes and costs are from `min` to `max`, which may be infinite. */
export interface SizeRange {
  readonly min: number;
  readonly max: number;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A set of functions and constants, added to an environment together. */
export interface Library {
  /** `cel.lib.ext.strings`. */
  readonly name: string;
  readonly functions: readonly FunctionDeclaration[];
  /** Names that stand for types or values: `int`, `optional_type`. */
  readonly constants?: ReadonlyMap<string, { readonly type: CelType; readonly value: Value }>;
}
