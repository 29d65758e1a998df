/**
 * A validating policy with its expressions. Each expression is compiled when it is first used, since some take long.
 * Variables are compiled before the expressions that use them (`compileVariables`).
 */
import type { ValidatingAdmissionPolicySpec, Validation, Variable } from "#api/admissionregistration/v1.ts";
import { admissionEnvironment, type AdmissionVariables, compileAdmission, withVariables } from "#cel/admission.ts";
import type { Environment } from "#cel/environment.ts";
import { ExpressionBudget } from "#cel/expression-budget.ts";
import { type CelType, dyn } from "#cel/types.ts";
import { type CompiledConditions, compileConditions } from "../admission-expressions.ts";
import { awaited, type Steps, yieldToEventLoop } from "#std/cooperative.ts";
import { LazyExpression } from "../expressions/evaluation.ts";
import type { CompiledVariable } from "./variables.ts";

export interface CompiledValidation {
  readonly validation: Validation;
  readonly expression: LazyExpression;
  /** The expression for the message; without one, the text of the validation is the message. */
  readonly message: LazyExpression | undefined;
}

/** The parts that compiled policies of all kinds have. */
export interface CompiledCommon {
  readonly conditions: CompiledConditions;
  readonly variables: readonly CompiledVariable[];
  /** Whether an expression that cannot be evaluated refuses the request (failure policy `Fail`). */
  readonly isFailing: boolean;
}

export interface CompiledPolicy extends CompiledCommon {
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly expression: LazyExpression }[];
}

type CommonSpec = Pick<ValidatingAdmissionPolicySpec, "paramKind" | "matchConditions" | "variables" | "failurePolicy">;

/** Variables, and the environment of expressions that use them. */
interface WithVariables {
  readonly variables: readonly CompiledVariable[];
  /** The types of the variables that are compiled. */
  readonly types: ReadonlyMap<string, CelType>;
  readonly environment: Environment;
}

export function compilePolicy(spec: ValidatingAdmissionPolicySpec, hasSelectors: boolean): CompiledPolicy {
  const { common, environment, types, budget } = compileCommon(spec, hasSelectors);
  const about = { hasParams: spec.paramKind !== undefined, hasAuthorizer: false, hasSelectors };
  const plain = admissionEnvironment(about);
  const ofMessages = common.variables.length === 0 ? plain : withVariables(plain, types);
  return {
    ...common,
    validations: (spec.validations ?? []).map((validation) => ({
      validation,
      expression: compileOne(validation.expression, "condition", environment, budget),
      message:
        (validation.messageExpression ?? "") === ""
          ? undefined
          : compileOne(validation.messageExpression!, "message", ofMessages, budget),
    })),
    auditAnnotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      expression: compileOne(valueExpression, "auditAnnotation", environment, budget),
    })),
  };
}

/** Compiles the parts that policies of all kinds have, and the environment of their other expressions. */
export function compileCommon(
  spec: CommonSpec,
  hasSelectors: boolean,
): Omit<WithVariables, "variables"> & { readonly common: CompiledCommon; readonly budget: ExpressionBudget } {
  const about = { hasParams: spec.paramKind !== undefined, hasAuthorizer: true, hasSelectors };
  const budget = new ExpressionBudget("a policy");
  const { variables, types, environment } = declareVariables(spec.variables ?? [], about, budget);
  const conditions = compileConditions(spec.matchConditions ?? [], about, budget);
  const common = { conditions, variables, isFailing: spec.failurePolicy !== "Ignore" };
  return { common, types, environment, budget };
}

export const compileOne = (
  source: string,
  purpose: Parameters<typeof compileAdmission>[1],
  environment: Environment,
  budget: ExpressionBudget,
): LazyExpression => new LazyExpression(source, () => compileAdmission(source, purpose, environment, budget));

function declareVariables(
  declarations: readonly Variable[],
  about: AdmissionVariables,
  budget: ExpressionBudget,
): WithVariables {
  const base = admissionEnvironment(about);
  const types = new Map<string, CelType>();
  if (declarations.length === 0) return { variables: [], types, environment: base };
  const environment = withVariables(base, types);
  const variables = declarations.map(({ name, expression }) => ({
    name,
    expression: new LazyExpression(expression, function* () {
      const compiled = yield* compileAdmission(expression, "variable", environment, budget);
      types.set(name, "problem" in compiled ? dyn : compiled.type);
      return compiled;
    }),
  }));
  return { variables, types, environment };
}

/** The length of a variable after which others have a turn; it takes a millisecond. */
const pieceLength = 1000;

/** Compiles the variables of a policy: each sees those before it. */
export function* compileVariables({ variables }: CompiledCommon): Steps<void> {
  let length = 0;
  for (const { expression } of variables) {
    if (expression.isCompiled) continue;
    if (length > pieceLength) {
      length = 0;
      yield yieldToEventLoop();
    }
    yield* awaited(expression.prepare());
    length += expression.source.length;
  }
}
