/**
 * Validates admission policies and their bindings, and compiles their expressions. Findings are upstream's, in its
 * order.
 */
import type {
  AuditAnnotation,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from "#api/admissionregistration/v1.ts";
import { admissionEnvironment, type ExpressionPurpose, isIdentifier, withVariables } from "#cel/admission.ts";
import type { Environment } from "#cel/environment.ts";
import { ExpressionBudget } from "#cel/expression-budget.ts";
import { mutationEnvironment } from "#cel/mutation.ts";
import { type CelType, dyn } from "#cel/types.ts";
import { type FieldError, forbidden, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1035Label, dns1123Subdomain, pathSegment, qualifiedName } from "#meta/names.ts";
import { jsonPathProblem } from "#schema/jsonpath.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkUnique } from "../checks.ts";
import { validateConditions } from "../conditions.ts";
import { checkConditions, checkExpression } from "./check-conditions.ts";
import { validateMatchResources } from "./rules.ts";

export interface PolicyCheck {
  /** Whether checks of the authorizer may have selectors (feature gate `AuthorizeWithSelectors`). */
  readonly hasSelectors: boolean;
}

const specPath = FieldPath.of("spec");

/** Returns findings about a new policy, or about an update of `old`. */
export function validatePolicy(
  policy: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
  check: PolicyCheck,
): FieldError[] {
  const { spec, metadata } = policy;
  const { validations = [], auditAnnotations = [] } = spec;
  const errors = validateCommon(spec);
  const expressions = new Expressions(spec, old === undefined ? undefined : storedExpressions(old.spec), check);
  errors.push(...expressions.conditions(), ...expressions.variables());
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = "validations or auditAnnotations must contain at least one item";
    errors.push(required(specPath.child("validations"), detail), required(specPath.child("auditAnnotations"), detail));
    return errors;
  }
  for (const [at, validation] of validations.entries()) {
    addAll(errors, validateValidation(validation, specPath.child("validations").index(at), expressions));
  }
  addAll(errors, validateAuditAnnotations(auditAnnotations, metadata.name ?? "", expressions));
  return errors;
}

type CommonSpec = Pick<
  ValidatingAdmissionPolicySpec,
  "failurePolicy" | "paramKind" | "matchConstraints" | "matchConditions" | "variables"
>;

/** Returns findings about the fields that policies of all kinds share, without the expressions. */
export function validateCommon({ failurePolicy, paramKind, matchConstraints }: CommonSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (failurePolicy !== "Fail" && failurePolicy !== "Ignore") {
    errors.push(notSupported(specPath.child("failurePolicy"), failurePolicy ?? "", ["Fail", "Ignore"]));
  }
  if (paramKind !== undefined) addAll(errors, validateParamKind(paramKind, specPath.child("paramKind")));
  const path = specPath.child("matchConstraints");
  if (matchConstraints === undefined) return [...errors, required(path)];
  addAll(errors, validateMatchResources(matchConstraints, path));
  if ((matchConstraints.resourceRules ?? []).length === 0) errors.push(required(path.child("resourceRules")));
  return errors;
}

function validateParamKind({ apiVersion = "", kind = "" }: ParamKind, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const field = path.child("apiVersion");
  const parsed = parseApiVersion(apiVersion);
  if (apiVersion === "") errors.push(required(field));
  else if (parsed === undefined) {
    errors.push(invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else {
    const { group, version } = parsed;
    if (group !== "") checkName(group, dns1123Subdomain, field, errors);
    if (version === "") errors.push(invalid(field, apiVersion, "version must be specified"));
    else for (const message of dns1035Label(version)) errors.push(invalid(field, version, message));
  }
  if (kind === "") return [...errors, required(path.child("kind"))];
  for (const message of dns1035Label(kind.toLowerCase())) {
    const detail = `may have mixed case, but should otherwise match: ${message}`;
    errors.push(invalid(path.child("kind"), kind, detail));
  }
  return errors;
}

/** The expressions of one policy. Each is compiled in its environment. */
export class Expressions {
  readonly #spec: CommonSpec;
  readonly #stored: ReadonlySet<string> | undefined;
  readonly #check: PolicyCheck;
  readonly #types = new Map<string, CelType>();
  readonly #environments = new Map<string, Environment>();
  readonly #budget = new ExpressionBudget("a policy");

  /** `stored` are the expressions that the policy had before. */
  constructor(spec: CommonSpec, stored: ReadonlySet<string> | undefined, check: PolicyCheck) {
    this.#spec = spec;
    this.#stored = stored;
    this.#check = check;
  }

  conditions(): readonly FieldError[] {
    const { matchConditions = [], paramKind } = this.#spec;
    return checkConditions(matchConditions, specPath.child("matchConditions"), {
      ...this.#check,
      hasParams: paramKind !== undefined,
      budget: this.#budget,
      ...(this.#stored === undefined ? {} : { stored: this.#stored }),
    });
  }

  /**
   * Returns findings about the variables, and remembers their types for the expressions that are checked afterwards.
   */
  variables(): readonly FieldError[] {
    return (this.#spec.variables ?? []).flatMap((variable, at) =>
      this.#variable(variable, specPath.child("variables").index(at)),
    );
  }

  #variable({ name, expression }: Variable, path: FieldPath): readonly FieldError[] {
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(path.child("name"), "name is not specified"));
    else if (!isIdentifier(name)) errors.push(invalid(path.child("name"), name, "name is not a valid CEL identifier"));
    if (expression.trim() === "") {
      return [...errors, required(path.child("expression"), "expression is not specified")];
    }
    const { errors: compileErrors, type = dyn } = this.#compile(expression, "variable", path.child("expression"));
    if (name !== "") this.#types.set(name, type);
    return [...errors, ...compileErrors];
  }

  check(source: string, purpose: ExpressionPurpose, path: FieldPath): readonly FieldError[] {
    return this.#compile(source, purpose, path).errors;
  }

  #compile(source: string, purpose: ExpressionPurpose, path: FieldPath): ReturnType<typeof checkExpression> {
    const environment = this.#environment(source, purpose !== "message");
    if (purpose !== "applyConfiguration" && purpose !== "jsonPatch") {
      return checkExpression(source, purpose, environment, this.#budget, path);
    }
    // Upstream: mutations see `variables` even if the policy has no variables.
    const ofMutations = withVariables(mutationEnvironment(environment), this.#types);
    return checkExpression(source, purpose, ofMutations, this.#budget, path);
  }

  #environment(source: string, hasAuthorizer: boolean): Environment {
    const isNew = this.#stored?.has(source) !== true;
    const key = `${isNew} ${hasAuthorizer}`;
    let environment = this.#environments.get(key);
    if (environment === undefined) {
      const { paramKind, variables = [] } = this.#spec;
      const about = { hasParams: paramKind !== undefined, hasAuthorizer, isNew, ...this.#check };
      const base = admissionEnvironment(about);
      environment = variables.length === 0 ? base : withVariables(base, this.#types);
      this.#environments.set(key, environment);
    }
    return environment;
  }
}

function storedExpressions({
  matchConditions = [],
  variables = [],
  validations = [],
  auditAnnotations = [],
}: ValidatingAdmissionPolicySpec): ReadonlySet<string> {
  return new Set([
    ...matchConditions.map(({ expression }) => expression),
    ...variables.map(({ expression }) => expression),
    ...validations.flatMap(({ expression, messageExpression = "" }) => [expression, messageExpression]),
    ...auditAnnotations.map(({ valueExpression }) => valueExpression),
  ]);
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function validateValidation(validation: Validation, path: FieldPath, expressions: Expressions): readonly FieldError[] {
  const { expression, message = "", messageExpression = "", reason } = validation;
  const errors: FieldError[] = [];
  if (expression.trim() === "") errors.push(required(path.child("expression"), "expression is not specified"));
  else addAll(errors, expressions.check(expression, "condition", path.child("expression")));
  const messagePath = path.child("messageExpression");
  if (messageExpression !== "" && messageExpression.trim() === "") {
    errors.push(invalid(messagePath, messageExpression, "must be non-empty if specified"));
  } else if (messageExpression !== "") addAll(errors, expressions.check(messageExpression, "message", messagePath));
  if (message !== "" && message.trim() === "") {
    errors.push(invalid(path.child("message"), message, "message must be non-empty if specified"));
  } else if (message.trim().includes("\n")) {
    errors.push(invalid(path.child("message"), message, "message must not contain line breaks"));
  }
  if (reason !== undefined && !reasons.includes(reason)) {
    errors.push(notSupported(path.child("reason"), reason, reasons));
  }
  return errors;
}

const annotationsMax = 20;
const valueExpressionBytesMax = 5 * 1024;

function validateAuditAnnotations(
  annotations: readonly AuditAnnotation[],
  policy: string,
  expressions: Expressions,
): readonly FieldError[] {
  const path = specPath.child("auditAnnotations");
  const errors: FieldError[] = [];
  if (annotations.length > annotationsMax) {
    errors.push(invalid(path, annotations, `must not have more than ${annotationsMax} auditAnnotations`));
  }
  const seen = new Set<string>();
  for (const [index, { key = "", valueExpression = "" }] of annotations.entries()) {
    const at = path.index(index);
    const name = `${policy}/${key}`;
    checkName(name, qualifiedName, at.child("key"), errors);
    const field = at.child("valueExpression");
    const source = valueExpression.trim();
    if (source === "") errors.push(required(field, "valueExpression is not specified"));
    else if (Buffer.byteLength(source) > valueExpressionBytesMax) {
      errors.push(required(field, `must not exceed ${valueExpressionBytesMax} bytes in length`));
    } else addAll(errors, expressions.check(valueExpression, "auditAnnotation", field));
    checkUnique(key, seen, at.child("key"), errors);
  }
  return errors;
}

const statusPath = FieldPath.of("status");

/** Returns findings about the status that controllers write. */
export function validatePolicyStatus({ status }: ValidatingAdmissionPolicy): FieldError[] {
  const { typeChecking, conditions = [] } = status;
  const warnings = typeChecking?.expressionWarnings ?? [];
  const path = statusPath.child("typeChecking", "expressionWarnings");
  return [
    ...warnings.flatMap(({ warning, fieldRef }, at) => [
      ...(warning.trim() === "" ? [required(path.index(at).child("warning"))] : []),
      ...validateFieldRef(fieldRef, path.index(at).child("fieldRef")),
    ]),
    ...validateConditions(conditions, statusPath.child("conditions")),
  ];
}

function validateFieldRef(fieldRef: string, path: FieldPath): FieldError[] {
  if (fieldRef.trim() === "") return [required(path)];
  const problem = jsonPathProblem(fieldRef);
  return problem === undefined ? [] : [invalid(path, fieldRef, `invalid JSONPath: ${problem}`)];
}

const actions = ["Audit", "Deny", "Warn"];

export function validateBinding({ spec }: ValidatingAdmissionPolicyBinding): FieldError[] {
  const { validationActions = [] } = spec;
  const errors = validateBindingCommon(spec);
  const path = specPath.child("validationActions");
  if (validationActions.length === 0) errors.push(required(path, "at least one validation action is required"));
  const seen = new Set<string>();
  for (const [at, action] of validationActions.entries()) {
    if (!actions.includes(action)) errors.push(notSupported(path.index(at), action, actions));
    checkUnique(action, seen, path.index(at), errors);
  }
  if (seen.has("Deny") && seen.has("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalid(path, goTexts(validationActions, "admissionregistration.ValidationAction"), detail));
  }
  return errors;
}

/** Returns findings about the fields that bindings of policies of all kinds share. */
export function validateBindingCommon(
  spec: Omit<ValidatingAdmissionPolicyBinding["spec"], "validationActions">,
): FieldError[] {
  const { policyName = "", paramRef, matchResources } = spec;
  const field = specPath.child("policyName");
  const errors =
    policyName === ""
      ? [required(field)]
      : dns1123Subdomain(policyName).map((message) => invalid(field, policyName, message));
  if (paramRef !== undefined) addAll(errors, validateParamRef(paramRef, specPath.child("paramRef")));
  if (matchResources !== undefined) {
    addAll(errors, validateMatchResources(matchResources, specPath.child("matchResources")));
  }
  return errors;
}

function validateParamRef(
  { name = "", selector, parameterNotFoundAction = "" }: ParamRef,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name !== "") {
    checkName(name, pathSegment, path.child("name"), errors);
    if (selector !== undefined) {
      const detail = "name and selector are mutually exclusive";
      errors.push(forbidden(path.child("name"), detail), forbidden(path.child("selector"), detail));
    }
  } else if (selector === undefined) errors.push(required(path, "one of name or selector must be specified"));
  if (selector !== undefined) addAll(errors, validateLabelSelector(selector, path.child("selector")));
  const action = path.child("parameterNotFoundAction");
  if (parameterNotFoundAction === "") errors.push(required(action));
  else if (parameterNotFoundAction !== "Deny" && parameterNotFoundAction !== "Allow") {
    errors.push(notSupported(action, parameterNotFoundAction, ["Deny", "Allow"]));
  }
  return errors;
}
