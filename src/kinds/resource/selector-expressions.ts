/**
 * Compiles the expressions of device selectors to find their errors. `device-selectors.ts` loads this file, which needs
 * the expression language, for the first expression.
 */
import { checkDeviceExpression } from "#cel/device.ts";
import { ExpressionBudget } from "#cel/expression-budget.ts";
import { forbidden, internalError, invalid } from "#meta/field-error.ts";
import type { CheckExpression } from "./device-checks.ts";

/** Returns the check of the expressions of one object. They share a budget. */
export function expressionCheck(): CheckExpression {
  const budget = new ExpressionBudget("all selectors");
  return (expression, path) => {
    const problem = checkDeviceExpression(expression, budget);
    if (problem === undefined) return undefined;
    if (problem === "too complex") return forbidden(path, "too complex, exceeds cost limit");
    return problem.isInternal ? internalError(path, problem.problem) : invalid(path, expression, problem.problem);
  };
}
