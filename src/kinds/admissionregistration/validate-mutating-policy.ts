/** Validates mutating admission policies. The rules that validating policies share are in `validate-policy.ts`. */
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingAdmissionPolicySpec,
  Mutation,
} from "#api/admissionregistration/v1alpha1.ts";
import { type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { Expressions, type PolicyCheck, validateBindingCommon, validateCommon } from "./validate-policy.ts";

const specPath = FieldPath.of("spec");

const operationNames = ["*", "CONNECT", "CREATE", "UPDATE"];

/** Returns findings about a new policy, or about an update of `old`. */
export function validateMutatingPolicy(
  { spec }: MutatingAdmissionPolicy,
  old: MutatingAdmissionPolicy | undefined,
  check: PolicyCheck,
): FieldError[] {
  const { mutations = [], matchConstraints, reinvocationPolicy = "" } = spec;
  const errors = [...validateCommon(spec), ...validateOperations(matchConstraints, specPath.child("matchConstraints"))];
  const path = specPath.child("mutations");
  const expressions = new Expressions(spec, old === undefined ? undefined : storedExpressions(old.spec), check);
  errors.push(...expressions.conditions(), ...expressions.variables());
  if (mutations.length === 0) errors.push(required(path, "mutations must contain at least one item"));
  for (const [at, mutation] of mutations.entries())
    addAll(errors, validateMutation(mutation, path.index(at), expressions));
  const reinvocation = specPath.child("reinvocationPolicy");
  if (reinvocationPolicy === "") errors.push(required(reinvocation));
  else if (reinvocationPolicy !== "IfNeeded" && reinvocationPolicy !== "Never") {
    errors.push(notSupported(reinvocation, reinvocationPolicy, ["IfNeeded", "Never"]));
  }
  return errors;
}

export const validateMutatingBinding = ({ spec }: MutatingAdmissionPolicyBinding): FieldError[] => [
  ...validateBindingCommon(spec),
  ...validateOperations(spec.matchResources, specPath.child("matchResources")),
];

/** Returns findings about unknown operations, and about deletions, since a deleted object cannot be changed. */
function validateOperations(match: MatchResources | undefined, path: FieldPath): readonly FieldError[] {
  const field = path.child("resourceRules", "operations");
  return (match?.resourceRules ?? [])
    .flatMap(({ operations = [] }) => operations)
    .filter((operation) => !operationNames.includes(operation))
    .map((operation) => notSupported(field, operation, operationNames));
}

function validateMutation(mutation: Mutation, path: FieldPath, expressions: Expressions): FieldError[] {
  const { patchType, applyConfiguration, jsonPatch } = mutation;
  switch (patchType) {
    case "ApplyConfiguration":
      return [
        ...validatePart("applyConfiguration", applyConfiguration, patchType, path, expressions),
        ...validateOther("jsonPatch", jsonPatch, patchType, path),
      ];
    case "JSONPatch":
      return [
        ...validatePart("jsonPatch", jsonPatch, patchType, path, expressions),
        ...validateOther("applyConfiguration", applyConfiguration, patchType, path),
      ];
    case "":
      return [required(path.child("patchType"))];
    default:
      return [notSupported(path.child("patchType"), patchType, ["ApplyConfiguration", "JSONPatch"])];
  }
}

type Part = { readonly expression?: string } | undefined;

function validatePart(
  name: "applyConfiguration" | "jsonPatch",
  part: Part,
  patchType: string,
  path: FieldPath,
  expressions: Expressions,
): readonly FieldError[] {
  if (part === undefined) return [required(path.child(name), `must be specified when patchType is ${patchType}`)];
  const { expression = "" } = part;
  const field = path.child(name, "expression");
  return expression.trim() === "" ? [required(field)] : expressions.check(expression, name, field);
}

const validateOther = (name: string, part: Part, patchType: string, path: FieldPath): readonly FieldError[] =>
  part === undefined
    ? []
    : [invalid(path.child(name), `{${name}}`, `must not be specified when patchType is ${patchType}`)];

function storedExpressions({ matchConditions = [], variables = [], mutations = [] }: MutatingAdmissionPolicySpec) {
  return new Set([
    ...[...matchConditions, ...variables].map(({ expression }) => expression),
    ...mutations.flatMap(({ applyConfiguration, jsonPatch }) => [
      applyConfiguration?.expression ?? "",
      jsonPatch?.expression ?? "",
    ]),
  ]);
}
