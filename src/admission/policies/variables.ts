/** The `variables` of a policy. Each is evaluated on first use, once per request, parameter object and purpose. */
import type { Activation } from "#cel/evaluate.ts";
import { CelError, type Value } from "#cel/values.ts";
import { type CostBudget, type LazyExpression, limitsOf } from "../expressions/evaluation.ts";

export interface CompiledVariable {
  readonly name: string;
  readonly expression: LazyExpression;
}

/** A plain object whose fields are evaluated when they are read; one without a value reads as an error. */
export function lazyVariables(
  variables: readonly CompiledVariable[],
  activation: () => Activation,
  budget: CostBudget,
): Value {
  const values = {};
  for (const { name, expression } of variables) {
    // A later variable of the same name takes the place of the earlier one.
    Object.defineProperty(values, name, {
      configurable: true,
      enumerable: true,
      get: once(name, expression, activation, budget),
    });
  }
  return values;
}

function once(
  name: string,
  expression: LazyExpression,
  activation: () => Activation,
  budget: CostBudget,
): () => Value | CelError {
  let known: Value | CelError | undefined;
  let isRunning = false;
  return () => {
    if (known !== undefined) return known;
    if (isRunning) return failure(name, "evaluate", "it refers to itself");
    isRunning = true;
    try {
      known = evaluate(name, expression, activation(), budget);
      return known;
    } finally {
      isRunning = false;
    }
  };
}

/** Throws when the budget is over, or an answer of the authorizer is not there yet. */
function evaluate(
  name: string,
  { compiled }: LazyExpression,
  activation: Activation,
  budget: CostBudget,
): Value | CelError {
  if ("problem" in compiled) return failure(name, "compile", compiled.problem);
  const result = compiled.program.evaluate(activation, limitsOf(budget));
  budget.spend(result.cost, result.work);
  return "error" in result ? failure(name, "evaluate", result.error.message) : result.value;
}

const failure = (name: string, what: string, problem: string): CelError =>
  new CelError(`composited variable ${JSON.stringify(name)} fails to ${what}: ${problem}`);
