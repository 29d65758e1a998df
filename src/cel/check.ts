/**
 * Checks types: finds the type of each part of an expression, and the variables, constants and overloads to which it
 * refers. Errors have cel-go's texts. Source: the language definition, and the answers of kube-apiserver.
 */
import type { Expression, Issue } from "./ast.ts";
import { Checker } from "./check/checker.ts";
import type { Checked } from "./checked.ts";
import type { Environment } from "./environment.ts";
import type { Steps } from "#std/cooperative.ts";

/** A tree without findings, or the findings, of which there is at least one. */
export type CheckResult = Checked | { readonly issues: readonly Issue[] };

/**
 * Checks a tree from the parser and, if its types are right, runs the environment's validators. The time is
 * proportional to the size of the tree, whatever its types are. Issues are in the order in which they were found; only
 * the first 100 have a message, the others only count.
 */
export function check(ast: Expression, environment: Environment): CheckResult {
  return validate(new Checker(environment).run(ast), environment);
}

/** Checks a tree as `check` does, in steps, so that others have a turn while a large tree is checked. */
export function* checkTreeInPieces(ast: Expression, environment: Environment): Steps<CheckResult> {
  const checked = yield* new Checker(environment).runInPieces(ast);
  yield undefined;
  return validate(checked, environment);
}

function validate(checked: CheckResult, environment: Environment): CheckResult {
  if ("issues" in checked) return checked;
  const issues = environment.validators.flatMap((validator) => validator(checked));
  return issues.length === 0 ? checked : { issues };
}
