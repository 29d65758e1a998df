/**
 * Evaluates checked expressions. A tree is compiled once into closures, which count costs as cel-go does and stop at
 * the cost limit.
 */
import { type CheckedTree, Compiler } from "./evaluate/compiler.ts";
import { type Activation, BudgetExceeded, Frame, type Step, workMax } from "./evaluate/frame.ts";
import { ConstantError } from "./evaluate/node.ts";
import type { Overload } from "./functions.ts";
import { Pending } from "./pending.ts";
import { CelError, type Value } from "./values.ts";

export { type Activation, workMax } from "./evaluate/frame.ts";

/**
 * The result of an evaluation. `isOverBudget`: whether the evaluation was stopped; its cost is then some number above
 * the limit. `work`: the number of steps that costs do not count.
 */
export type Evaluation =
  | { readonly value: Value; readonly cost: number; readonly work: number }
  | { readonly error: CelError; readonly cost: number; readonly work: number; readonly isOverBudget: boolean };

interface EvaluationLimits {
  readonly costLimit: number;
  /** The limit of steps that costs do not count. Left out: `workMax`. */
  readonly workLimit?: number;
}

/** A compiled expression, which may be evaluated any number of times. */
export class Program {
  readonly #step: Step;
  readonly #slotCount: number;

  constructor(step: Step, slotCount: number) {
    this.#step = step;
    this.#slotCount = slotCount;
  }

  /**
   * Evaluates the expression. The values of variables are read in place, and must not change meanwhile. Throws
   * `Pending` if a variable or function does.
   */
  evaluate(activation: Activation, { costLimit, workLimit = workMax }: EvaluationLimits): Evaluation {
    const frame = new Frame(activation, this.#slotCount, costLimit, workLimit);
    try {
      const result = this.#step(frame);
      if (frame.isOver) return overBudget(frame, costLimit, workLimit);
      const { cost, worked: work } = frame;
      if (result instanceof CelError) return { error: result, cost, work, isOverBudget: false };
      return { value: result, cost, work };
    } catch (error) {
      if (error instanceof BudgetExceeded) return overBudget(frame, costLimit, workLimit);
      if (error instanceof Pending) error.spent += frame.cost + frame.worked;
      throw error;
    }
  }
}

const overBudget = ({ cost, worked }: Frame, costLimit: number, workLimit: number): Evaluation => ({
  error: new CelError("operation cancelled: actual cost limit exceeded"),
  cost: Math.max(cost, costLimit + 1),
  // The steps beyond the limit were not done.
  work: Math.min(worked, workLimit),
  isOverBudget: true,
});

/**
 * Compiles a tree. Returns an error if a part without variables, such as `int('a')`, has no value. `overloads` returns
 * the overloads of a function, for a tree that was not checked.
 */
export function compile(checked: CheckedTree, overloads?: (name: string) => readonly Overload[]): Program | CelError {
  const compiler = new Compiler(checked, overloads);
  try {
    const { step } = compiler.compile(checked.ast);
    return new Program(step, compiler.slotCount);
  } catch (error) {
    if (error instanceof ConstantError) return new CelError(error.message);
    throw error;
  }
}
