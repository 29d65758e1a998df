/** The state of one evaluation: the values of its variables, and its cost so far. */
import type { EvaluationContext } from "../functions.ts";
import type { CelError, Value } from "../values.ts";

/** The values of variables by their full names. */
export type Activation = { readonly [name: string]: Value | undefined };

/** A compiled node. */
export type Step = (frame: Frame) => Value | CelError;

/** Ends an evaluation. It is thrown, since `&&` and `||` would ignore it if it was an error value. */
export class BudgetExceeded extends Error {}

/**
 * The maximum number of steps of one evaluation that costs do not count. A step takes about 5 ns, so this number of
 * steps takes about 20 ms; a unit of cost takes 7 to 25 ns, so 1,000,000 units do not take much longer.
 * `shared-values.test.ts` has expressions that need this limit.
 */
export const workMax = 4_000_000;

export class Frame implements EvaluationContext {
  readonly activation: Activation;
  /** The values of the variables and accumulators of loops. */
  readonly slots: (Value | CelError)[];
  /** The cost so far. Steps with a small cost raise it directly; loops and functions check the limit. */
  cost = 0;
  /** The number of steps that costs do not count. */
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
