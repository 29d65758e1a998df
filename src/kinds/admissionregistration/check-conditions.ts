/** Checks of expressions in webhook configurations and admission policies, with upstream's findings. */
import type { MatchCondition } from "#api/admissionregistration/v1.ts";
import { admissionEnvironment, compileAdmission, type ExpressionPurpose } from "#cel/admission.ts";
import type { Environment } from "#cel/environment.ts";
import type { ExpressionBudget } from "#cel/expression-budget.ts";
import type { CelType } from "#cel/types.ts";
import { duplicate, type FieldError, internalError, invalid, required, tooMany } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { runToEnd } from "#std/cooperative.ts";

const conditionsMax = 64;

export interface ConditionCheck {
  readonly hasParams: boolean;
  /** Whether checks of the authorizer may have selectors (feature gate `AuthorizeWithSelectors`). */
  readonly hasSelectors: boolean;
  /**
   * The expressions that the object had before. They may use language features that new expressions may not use yet.
   */
  readonly stored?: ReadonlySet<string>;
  /** The budget that all expressions of the object share. */
  readonly budget: ExpressionBudget;
}

/** Returns findings about match conditions: their names, their number and their expressions. */
export function checkConditions(
  conditions: readonly MatchCondition[],
  path: FieldPath,
  { hasParams, hasSelectors, stored, budget }: ConditionCheck,
): FieldError[] {
  const errors: FieldError[] = [];
  if (conditions.length > conditionsMax) errors.push(tooMany(path, conditions.length, conditionsMax));
  const names = new Set<string>();
  for (const [index, { name = "", expression = "" }] of conditions.entries()) {
    const at = path.index(index);
    const source = expression.trim();
    if (source === "") errors.push(required(at.child("expression")));
    else {
      const isNew = stored?.has(expression) !== true;
      const environment = admissionEnvironment({ hasParams, hasAuthorizer: true, hasSelectors, isNew });
      addAll(errors, checkExpression(source, "condition", environment, budget, at.child("expression")).errors);
    }
    addAll(errors, checkName(name, at.child("name")));
    if (name !== "" && names.has(name)) errors.push(duplicate(at.child("name"), name));
    names.add(name);
  }
  return errors;
}

const checkName = (name: string, path: FieldPath): readonly FieldError[] =>
  name === "" ? [required(path)] : qualifiedName(name).map((message) => invalid(path, name, message));

/** Returns the type of an expression, or findings about it. */
export function checkExpression(
  source: string,
  purpose: ExpressionPurpose,
  environment: Environment,
  budget: ExpressionBudget,
  path: FieldPath,
): { readonly errors: readonly FieldError[]; readonly type?: CelType } {
  const compiled = runToEnd(compileAdmission(source, purpose, environment, budget));
  if (!("problem" in compiled)) return { errors: [], type: compiled.type };
  const { problem, isInternal } = compiled;
  return { errors: [isInternal ? internalError(path, problem) : invalid(path, source, problem)] };
}
