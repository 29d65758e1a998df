/** One evaluation of an expression of admission: within a budget, with upstream's texts for what has no value. */
import type { TypedProgram } from "#cel/admission.ts";
import type { AuthorizationChecks } from "#cel/authorizer.ts";
import type { Value } from "#cel/values.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { isTooDeep } from "#std/too-deep.ts";

/** An expression, and its program or why there is none. */
export interface CompiledExpression {
  readonly source: string;
  readonly compiled: TypedProgram | { readonly problem: string };
}

/** What a single expression may cost. */
export const callCostMax = 1_000_000;

/** What the expressions of one policy may cost together for one request; match conditions have one of their own. */
export const policyCostMax = 10_000_000;
export const conditionsCostMax = 2_500_000;

/** Thrown when expressions together cost more than they may. Upstream's words. */
export class OutOfBudget extends Error {
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

/** Units of cost that are left. */
export class Budget {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws `OutOfBudget`. */
  spend(units: number): void {
    if (units > this.#left) throw new OutOfBudget();
    this.#left -= units;
  }
}

export type Outcome = { readonly value: Value } | { readonly error: string };

export type Activation = { readonly [name: string]: Value | undefined };

/** Evaluates now. `budget` pays for it. Throws `OutOfBudget`, and what `AuthorizationChecks` throw. */
export function evaluateNow({ compiled }: CompiledExpression, activation: Activation, budget: Budget): Outcome {
  if ("problem" in compiled) return { error: `compilation error: ${compiled.problem}` };
  try {
    const result = compiled.program.evaluate(activation, { costLimit: Math.min(callCostMax, budget.left) });
    budget.spend(result.cost);
    return "error" in result ? { error: result.error.message } : result;
  } catch (error) {
    if (isTooDeep(error)) return { error: "the expression nests too deeply" };
    throw error;
  }
}

/** Evaluates, and waits for answers of the authorizer. Throws or rejects with `OutOfBudget`. */
export function evaluateExpression(
  expression: CompiledExpression,
  activation: Activation,
  budget: Budget,
  checks: AuthorizationChecks,
): MaybePromise<Outcome> {
  return andThen(
    checks.withAnswers(() => evaluateNow(expression, activation, budget)),
    (outcome) =>
      "error" in outcome && !("problem" in expression.compiled)
        ? { error: `expression '${expression.source}' resulted in error: ${outcome.error}` }
        : outcome,
  );
}
