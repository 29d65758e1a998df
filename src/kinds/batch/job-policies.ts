/** Validates the pod failure policy and the success policy of jobs. */
import { initialContainers } from "#api/core/containers.ts";
import type {
  JobSpec,
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicy,
  SuccessPolicyRule,
} from "#api/batch/v1.ts";
import {
  type FieldError,
  goQuote,
  invalid,
  invalidPart,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkUnique } from "../checks.ts";
import { validateNotNegative } from "../numbers.ts";
import { countIndexes } from "#meta/index-list.ts";

const rulesMax = 20;
const patternsMax = 20;
const exitCodesMax = 255;
const indexesBytesMax = 64 * 1024;
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];

/** Returns findings about the pod failure policy. `path` is the path of the job's spec. */
export function validatePodFailurePolicy(spec: JobSpec, policy: PodFailurePolicy, path: FieldPath): FieldError[] {
  const rules = policy.rules ?? [];
  const rulesPath = path.child("podFailurePolicy", "rules");
  const errors = rules.length > rulesMax ? [tooMany(rulesPath, rules.length, rulesMax)] : [];
  const names = new Set(initialContainers(spec.template.spec).map(({ name }) => name));
  const isPerIndex = spec.backoffLimitPerIndex !== undefined;
  for (const [i, rule] of rules.entries())
    addAll(errors, validateRule(rule, rulesPath.index(i), { names, isPerIndex }));
  return errors;
}

function validateRule(
  rule: PodFailurePolicyRule,
  path: FieldPath,
  job: { readonly names: ReadonlySet<string>; readonly isPerIndex: boolean },
): FieldError[] {
  const { action, onExitCodes, onPodConditions: patterns = [] } = rule;
  const at = path.child("action");
  const errors =
    action === "FailIndex" && !job.isPerIndex
      ? [invalid(at, action, "requires the backoffLimitPerIndex to be set")]
      : validateChoice(action, actions, at);
  if (onExitCodes !== undefined) addAll(errors, validateExitCodes(onExitCodes, path.child("onExitCodes"), job.names));
  addAll(errors, validatePatterns(patterns, path.child("onPodConditions")));
  if (onExitCodes !== undefined && patterns.length > 0) {
    errors.push(invalidPart(path, "specifying both OnExitCodes and OnPodConditions is not supported"));
  }
  if (onExitCodes === undefined && patterns.length === 0) {
    errors.push(invalidPart(path, "specifying one of OnExitCodes and OnPodConditions is required"));
  }
  return errors;
}

function validateChoice(value: string, values: readonly string[], at: FieldPath): FieldError[] {
  if (value === "") return [required(at, `valid values: [${values.map(goQuote).join(" ")}]`)];
  return values.includes(value) ? [] : [notSupported(at, value, values)];
}

function validateExitCodes(
  { operator, containerName, values }: PodFailurePolicyOnExitCodesRequirement,
  path: FieldPath,
  names: ReadonlySet<string>,
): FieldError[] {
  const errors = validateChoice(operator, operators, path.child("operator"));
  if (containerName !== undefined && !names.has(containerName)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    errors.push(invalid(path.child("containerName"), containerName, detail));
  }
  const codes = values ?? [];
  const at = path.child("values");
  if (codes.length === 0) return [...errors, invalid(at, codes, "at least one value is required")];
  if (codes.length > exitCodesMax) return [...errors, tooMany(at, codes.length, exitCodesMax)];
  const seenCodes = new Set<number>();
  for (const [i, code] of codes.entries()) {
    if (operator === "In" && code === 0) errors.push(invalid(at.index(i), code, "must not be 0 for the In operator"));
    checkUnique(code, seenCodes, at.index(i), errors);
  }
  const isOrdered = codes.every((code, i) => i === 0 || codes[i - 1]! <= code);
  return isOrdered ? errors : [...errors, invalid(at, codes, "must be ordered")];
}

function validatePatterns(patterns: readonly PodFailurePolicyOnPodConditionsPattern[], path: FieldPath): FieldError[] {
  const errors = patterns.length > patternsMax ? [tooMany(path, patterns.length, patternsMax)] : [];
  for (const [i, { type, status }] of patterns.entries()) {
    const at = path.index(i);
    checkName(type, qualifiedName, at.child("type"), errors);
    addAll(errors, validateChoice(status, statuses, at.child("status")));
  }
  return errors;
}

/** Returns findings about the success policy. `path` is the path of the job's spec. */
export function validateSuccessPolicy(spec: JobSpec, policy: SuccessPolicy, path: FieldPath): FieldError[] {
  const at = path.child("successPolicy");
  const rulesPath = at.child("rules");
  const rules = policy.rules ?? [];
  if (spec.completionMode !== "Indexed") return [invalid(at, policy, "requires indexed completion mode")];
  if (rules.length === 0) {
    return [required(rulesPath, "at least one rules must be specified when the successPolicy is specified")];
  }
  const errors = rules.length > rulesMax ? [tooMany(rulesPath, rules.length, rulesMax)] : [];
  const { completions = 0 } = spec;
  for (const [i, rule] of rules.entries()) addAll(errors, validateSuccessRule(rule, rulesPath.index(i), completions));
  return errors;
}

function validateSuccessRule(
  { succeededCount: count, succeededIndexes: indexes }: SuccessPolicyRule,
  path: FieldPath,
  completions: number,
): FieldError[] {
  if (count === undefined && indexes === undefined) {
    return [required(path, "at least one of succeededCount or succeededIndexes must be specified")];
  }
  const errors: FieldError[] = [];
  let total = 0;
  if (indexes !== undefined) {
    const at = path.child("succeededIndexes");
    if (indexes.length > indexesBytesMax) errors.push(tooLong(at, indexesBytesMax));
    const indexCount = countIndexes(indexes, completions);
    if (typeof indexCount === "string")
      errors.push(invalid(at, indexes, `error parsing succeededIndexes: ${indexCount}`));
    else total = indexCount;
  }
  if (count === undefined) return errors;
  const at = path.child("succeededCount");
  const tooHigh = (max: number, what: string): FieldError =>
    invalid(at, count, `must be less than or equal to ${max} (the number of ${what})`);
  addAll(errors, validateNotNegative(count, at));
  if (count > completions) errors.push(tooHigh(completions, "specified completions"));
  if (indexes !== undefined && count > total) {
    errors.push(tooHigh(total, "indexes in the specified succeededIndexes field"));
  }
  return errors;
}
