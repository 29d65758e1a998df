/** Loads the check of selector expressions for objects that have one. */
import type { FieldError } from "#meta/field-error.ts";
import { lazy } from "#std/lazy.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { CheckExpression } from "./device-checks.ts";

const compilation = lazy(() => import("./selector-expressions.ts"));

/** Returns the findings of `validate`, whose argument checks expressions. `expressions` are those of the object. */
export function withExpressionCheck(
  expressions: readonly (string | undefined)[],
  validate: (check: CheckExpression) => readonly FieldError[],
): MaybePromise<readonly FieldError[]> {
  if (expressions.every((expression) => expression === undefined)) return validate(() => undefined);
  return andThen(compilation(), ({ expressionCheck }) => validate(expressionCheck()));
}
