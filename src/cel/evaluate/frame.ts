/** One evaluation: the values of its variables, and its cost so far. */
import type { EvaluationContext } from "../functions.ts";
import type { CelError, Value } from "../values.ts";

/** Values of variables by their whole names. */
export type Activation = { readonly [name: string]: Value | undefined };

/** A compiled node. */
export type Step = (frame: Frame) => Value | CelError;

/** Ends an evaluation; no value of an expression, since `&&` and `||` must not take it in. */
export class BudgetExceeded extends Error {}

/**
 * Steps of one evaluation beyond those that costs count. A step takes about 5 ns, so all of them about 20 ms; a unit of
 * cost takes 7 to 25 ns, so 1,000,000 of them not much longer. `shared-values.test.ts` has some that need it.
 */
export const workMax = 4_000_000;

export class Frame implements EvaluationContext {
  readonly activation: Activation;
  /** Variables and accumulators of loops are kept here. */
  readonly slots: (Value | CelError)[];
  /** The cost so far. Steps that cost little raise it directly; loops and functions check the limit. */
  cost = 0;
  /** Steps that cost does not count. */
  worked = 0;
  readonly #limit: number;
  readonly #workLimit: number;

  constructor(activation: Activation, slotCount: number, limit: number, workLimit: number) {
    this.activation = activation;
    this.slots = slotCount === 0 ? [] : new Array<Value>(slotCount).fill(null);
    this.#limit = limit;
    this.#workLimit = workLimit;
  }

  get isOver(): boolean {
    return this.cost > this.#limit;
  }

  spend(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#limit) throw new BudgetExceeded();
  }

  work(units: number): void {
    this.worked += units;
    if (this.worked > this.#workLimit) throw new BudgetExceeded();
  }
}
