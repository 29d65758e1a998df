/**
 * The `variables` of a policy. Each is evaluated when it is first used, once per request, parameter object and purpose.
 * That happens inside another evaluation, so a chain of variables could take long in one piece. When `yielder` says
 * that others have waited long enough, the evaluations around a variable are thrown away, and started again once the
 * value of the variable is known. This happens at most once for each variable, only as long as the repeated work is
 * limited, and costs nothing of the budget.
 */
import type { Activation } from "#cel/evaluate.ts";
import { Pending } from "#cel/pending.ts";
import { CelError, type Value } from "#cel/values.ts";
import type { Yielder } from "#std/cooperative.ts";
import { type CostBudget, type LazyExpression, limitsOf, untilPaid } from "../expressions/evaluation.ts";

export interface CompiledVariable {
  readonly name: string;
  readonly expression: LazyExpression;
}

/** Makes a plain object whose fields are evaluated when they are read; a field without a value reads as an error. */
export function lazyVariables(
  variables: readonly CompiledVariable[],
  activation: () => Activation,
  budget: CostBudget,
  yielder: Yielder,
): Value {
  const values = {};
  for (const { name, expression } of variables) {
    // A later variable of the same name takes the place of the earlier one.
    Object.defineProperty(values, name, {
      configurable: true,
      enumerable: true,
      get: once(name, () => evaluate(name, expression, activation(), budget), budget, yielder),
    });
  }
  return values;
}

function once(
  name: string,
  evaluateNow: () => Value | CelError,
  budget: CostBudget,
  yielder: Yielder,
): () => Value | CelError {
  let cached: Value | CelError | undefined;
  let isRunning = false;
  let isLeftOnce = false;
  const run = (): Value | CelError => {
    isRunning = true;
    try {
      return (cached = evaluateNow());
    } finally {
      isRunning = false;
    }
  };
  const runAlone = async (): Promise<void> => {
    isLeftOnce = true;
    await yielder.pause();
    await untilPaid(() => cached ?? run(), budget);
    if (yielder.isDue) await yielder.pause();
  };
  return () => {
    if (cached !== undefined) return cached;
    if (isRunning) return failure(name, "evaluate", "it refers to itself");
    if (!isLeftOnce && budget.mayRepeat && yielder.isDue) throw new Pending(runAlone());
    return run();
  };
}

/** Evaluates a variable. Throws when the budget is used up, or the evaluation has to wait. */
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
