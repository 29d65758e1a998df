/**
 * Checks the expressions of device selectors, which are about a `device` with its driver, attributes and capacity.
 * Schedulers evaluate them. Source: the answers of kube-apiserver.
 */
import { runToEnd } from "#std/cooperative.ts";
import { estimateCost } from "./cost.ts";
import type { ExpressionBudget } from "./expression-budget.ts";
import { environmentWith, instantiate, objectOf, type Problem } from "./expression.ts";
import { quantityType } from "./library/quantity.ts";
import { semverLibrary } from "./library/semver.ts";
import { any, mapOf, string, typeName } from "./types.ts";

/** The maximum cost of a selector for one device. */
const costMax = 1_000_000;

const deviceType = objectOf("kubernetes.DRADevice", {
  driver: string,
  attributes: mapOf(string, mapOf(string, any)),
  capacity: mapOf(string, mapOf(string, quantityType)),
});

const environment = environmentWith(
  { libraries: [semverLibrary], variables: new Map([["device", deviceType]]), hasBindings: true },
  { isNew: true },
);

/**
 * Returns the problem of an expression: that it is wrong, or `too complex`. All expressions of an object share
 * `budget`.
 */
export function checkDeviceExpression(source: string, budget: ExpressionBudget): Problem | "too complex" | undefined {
  const checked = runToEnd(budget.check(source, environment));
  if ("problem" in checked) return checked;
  const { kind } = checked.type;
  if (kind !== "bool" && kind !== "any") {
    const problem = `must evaluate to bool or the unknown type, not ${typeName(checked.type)}`;
    return { problem, isInternal: false };
  }
  const program = instantiate(checked);
  if ("problem" in program) return program;
  return estimateCost(checked, undefined) > costMax ? "too complex" : undefined;
}
