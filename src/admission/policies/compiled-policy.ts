/** A validating policy with its expressions compiled. */
import type { ValidatingAdmissionPolicySpec, Validation, Variable } from "#api/admissionregistration/v1.ts";
import { admissionEnvironment, type AdmissionVariables, compileAdmission, withVariables } from "#cel/admission.ts";
import type { Environment } from "#cel/environment.ts";
import { type CelType, dyn } from "#cel/types.ts";
import { type CompiledConditions, compileConditions } from "../admission-expressions.ts";
import type { CompiledExpression } from "../expressions/evaluation.ts";
import type { CompiledVariable } from "./variables.ts";

export interface CompiledValidation extends CompiledExpression {
  readonly validation: Validation;
  /** Says why; without one, the validation's own text does. */
  readonly message: CompiledExpression | undefined;
}

/** What policies of all kinds have. */
export interface CompiledCommon {
  readonly conditions: CompiledConditions;
  readonly variables: readonly CompiledVariable[];
  /** Whether what cannot be evaluated refuses the request (failure policy `Fail`). */
  readonly isFailing: boolean;
}

export interface CompiledPolicy extends CompiledCommon {
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly (CompiledExpression & { readonly key: string })[];
}

export type CommonSpec = Pick<
  ValidatingAdmissionPolicySpec,
  "paramKind" | "matchConditions" | "variables" | "failurePolicy"
>;

/** Compiled variables, and the environment of expressions that use them. */
interface WithVariables {
  readonly variables: readonly CompiledVariable[];
  readonly environment: Environment;
}

export function compilePolicy(spec: ValidatingAdmissionPolicySpec, hasSelectors: boolean): CompiledPolicy {
  const { common, environment } = compileCommon(spec, hasSelectors);
  const about = { hasParams: spec.paramKind !== undefined, hasAuthorizer: false, hasSelectors };
  const ofMessages = withVariableTypes(admissionEnvironment(about), common.variables);
  return {
    ...common,
    validations: (spec.validations ?? []).map((validation) => ({
      ...compileOne(validation.expression, "condition", environment),
      validation,
      message:
        (validation.messageExpression ?? "") === ""
          ? undefined
          : compileOne(validation.messageExpression!, "message", ofMessages),
    })),
    auditAnnotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      ...compileOne(valueExpression, "auditAnnotation", environment),
    })),
  };
}

/** The parts that policies of all kinds have, and the environment of their other expressions. */
export function compileCommon(
  spec: CommonSpec,
  hasSelectors: boolean,
): { readonly common: CompiledCommon; readonly environment: Environment } {
  const about = { hasParams: spec.paramKind !== undefined, hasAuthorizer: true, hasSelectors };
  const { variables, environment } = compileVariables(spec.variables ?? [], about);
  const conditions = compileConditions(spec.matchConditions ?? [], about);
  return { common: { conditions, variables, isFailing: spec.failurePolicy !== "Ignore" }, environment };
}

export const compileOne = (
  source: string,
  purpose: Parameters<typeof compileAdmission>[1],
  environment: Environment,
): CompiledExpression => ({ source, compiled: compileAdmission(source, purpose, environment) });

/** A variable sees those before it. */
export function compileVariables(variables: readonly Variable[], about: AdmissionVariables): WithVariables {
  const base = admissionEnvironment(about);
  if (variables.length === 0) return { variables: [], environment: base };
  const done: CompiledVariable[] = [];
  const types = new Map<string, CelType>();
  const environment = withVariables(base, types);
  for (const { name, expression } of variables) {
    const compiled = compileAdmission(expression, "variable", environment);
    done.push({ name, compiled });
    types.set(name, "problem" in compiled ? dyn : compiled.type);
  }
  return { variables: done, environment };
}

/** The environment in which the compiled variables can be used. */
function withVariableTypes(environment: Environment, variables: readonly CompiledVariable[]): Environment {
  if (variables.length === 0) return environment;
  const types = new Map(
    variables.map(({ name, compiled }): [string, CelType] => [name, "problem" in compiled ? dyn : compiled.type]),
  );
  return withVariables(environment, types);
}
