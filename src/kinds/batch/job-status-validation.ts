/**
 * Validates the status of jobs: its fields must be consistent, and a finished job stays finished. Most rules apply only
 * to fields that a write changes. Source: `ValidateJobUpdateStatus` in upstream's `pkg/apis/batch/validation`.
 */
import type { Job, JobStatus, UncountedTerminatedPods } from "#api/batch/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { duplicate, type FieldError, goTime, invalid, invalidPart, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { momentOf } from "#meta/time.ts";
import { validateCounts } from "../apps/workload-validation.ts";
import { commonIndex, countIndexes } from "#meta/index-list.ts";

const statusPath = FieldPath.of("status");
const conditionsPath = statusPath.child("conditions");
const uncountedPath = statusPath.child("uncountedTerminatedPods");
const startPath = statusPath.child("startTime");
const completionPath = statusPath.child("completionTime");

type ConditionType = "Complete" | "Failed" | "FailureTarget" | "SuccessCriteriaMet";

const hasCondition = ({ conditions = [] }: JobStatus, wanted: ConditionType): boolean =>
  conditions.some(({ type, status }) => type === wanted && status === "True");

/** A write of the status of a job. */
interface Change {
  readonly job: Job;
  readonly status: JobStatus;
  readonly old: JobStatus;
  /** Whether the job is complete or has failed. */
  readonly isFinished: boolean;
  is(type: ConditionType): boolean;
  /** Whether the old status has a condition that the new one lacks. */
  lost(type: ConditionType): boolean;
  /** Whether one of the conditions was added or removed. */
  turned(...types: readonly ConditionType[]): boolean;
  /** Whether one of the fields has changed. */
  changed(...names: readonly (keyof JobStatus)[]): boolean;
}

/** The rules of a server, by its gates. */
interface JobStatusRules {
  /** Whether fields must be consistent: with the gate `JobManagedBy` other controllers write them as well. */
  readonly checksConsistency: boolean;
  /** Whether a job may meet its success criteria without a success policy. */
  readonly allowsAnySuccessCriteria: boolean;
}

export function validateJobStatus(job: Job, { status: old }: Job, rules: JobStatusRules): FieldError[] {
  const { status } = job;
  const is = (type: ConditionType): boolean => hasCondition(status, type);
  const change: Change = {
    job,
    status,
    old,
    isFinished: is("Complete") || is("Failed"),
    is,
    lost: (type) => hasCondition(old, type) && !is(type),
    turned: (...types) => types.some((type) => is(type) !== hasCondition(old, type)),
    changed: (...names) => names.some((name) => !jsonEquals(status[name], old[name])),
  };
  const errors = [
    ...validateCounts(status, ["active", "succeeded", "failed", "ready", "terminating"], statusPath),
    ...(status.uncountedTerminatedPods === undefined ? [] : validateUncounted(status.uncountedTerminatedPods)),
    ...(rules.checksConsistency ? validateConsistency(change) : []),
    ...validateSuccessCriteria(change, rules.allowsAnySuccessCriteria || hasCondition(old, "SuccessCriteriaMet")),
  ];
  if (rules.checksConsistency) errors.push(...validateTransition(change));
  if (change.lost("SuccessCriteriaMet")) {
    errors.push(invalidPart(conditionsPath, "cannot disable the SuccessCriteriaMet=True condition"));
  }
  if (hasCondition(old, "Complete") && is("SuccessCriteriaMet") && change.turned("SuccessCriteriaMet")) {
    const detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
    errors.push(invalidPart(conditionsPath, detail));
  }
  return errors;
}

const validateConsistency = (change: Change): FieldError[] => [
  ...validateCompletion(change),
  ...validateFinished(change),
  ...validateIndexes(change),
  ...validatePods(change),
];

function validateUncounted(pods: UncountedTerminatedPods): FieldError[] {
  const seenUids = new Set<string>();
  return (["succeeded", "failed"] as const).flatMap((name) =>
    (pods[name] ?? []).flatMap((uid, i) => {
      const path = uncountedPath.child(name).index(i);
      if (uid === "") return [invalid(path, uid, "must not be empty")];
      if (seenUids.has(uid)) return [duplicate(path, uid)];
      seenUids.add(uid);
      return [];
    }),
  );
}

/** Return findings about conditions that exclude or need each other. */
const conflict = (a: ConditionType, b: ConditionType, shown = b.toString()): FieldError =>
  invalidPart(conditionsPath, `cannot set ${a}=True and ${shown}=true conditions`);
const missingCondition = (a: ConditionType, b: ConditionType): FieldError =>
  invalidPart(conditionsPath, `cannot set ${a}=True condition without the ${b}=true condition`);

function validateCompletion({ status, is, turned, changed }: Change): FieldError[] {
  const { startTime, completionTime } = status;
  const isComplete = is("Complete");
  const errors: FieldError[] = [];
  if (turned("Complete", "Failed") && isComplete && is("Failed")) errors.push(conflict("Complete", "Failed"));
  if (turned("Complete", "FailureTarget") && isComplete && is("FailureTarget")) {
    errors.push(conflict("Complete", "FailureTarget"));
  }
  if (turned("Complete") || changed("completionTime")) {
    if (completionTime !== undefined && !isComplete) {
      const detail = "cannot set completionTime when there is no Complete=True condition";
      errors.push(invalid(completionPath, goTime(completionTime), detail));
    }
    if (completionTime === undefined && isComplete) {
      errors.push(required(completionPath, "completionTime is required for Complete jobs"));
    }
  }
  if (
    changed("startTime", "completionTime") &&
    startTime !== undefined &&
    completionTime !== undefined &&
    momentOf(completionTime) < momentOf(startTime)
  ) {
    const detail = "completionTime cannot be set before startTime";
    errors.push(invalid(completionPath, goTime(completionTime), detail));
  }
  if (turned("Failed", "FailureTarget") && is("Failed") && !is("FailureTarget")) {
    errors.push(missingCondition("Failed", "FailureTarget"));
  }
  if (turned("Complete", "SuccessCriteriaMet") && isComplete && !is("SuccessCriteriaMet")) {
    errors.push(missingCondition("Complete", "SuccessCriteriaMet"));
  }
  return errors;
}

function validateFinished({ job, status, isFinished, turned, changed }: Change): FieldError[] {
  if (!isFinished) return [];
  const ended = turned("Complete", "Failed");
  const errors: FieldError[] = [];
  const { active = 0, startTime, uncountedTerminatedPods: pods } = status;
  if ((ended || changed("active")) && active > 0) {
    errors.push(invalid(statusPath.child("active"), active, "active>0 is invalid for finished job"));
  }
  const neverStarts = job.spec.suspend === true && job.spec.completions === 0;
  if ((ended || changed("startTime")) && startTime === undefined && !neverStarts) {
    errors.push(required(startPath, "startTime is required for finished job"));
  }
  const uncounted = (pods?.succeeded ?? []).length + (pods?.failed ?? []).length;
  if (pods !== undefined && uncounted > 0 && (ended || changed("uncountedTerminatedPods"))) {
    const detail = "uncountedTerminatedPods needs to be empty for finished job";
    errors.push(invalid(uncountedPath, pods, detail));
  }
  return errors;
}

function validateIndexes({ job, status, changed }: Change): FieldError[] {
  const { completions, completionMode, backoffLimitPerIndex } = job.spec;
  const { completedIndexes: completed = "", failedIndexes: failed } = status;
  const [completedPath, failedPath] = [statusPath.child("completedIndexes"), statusPath.child("failedIndexes")];
  const errors: FieldError[] = [];
  const check = (text: string, path: FieldPath, name: string): void => {
    const count = completions === undefined ? 0 : countIndexes(text, completions);
    if (typeof count === "string") errors.push(invalid(path, text, `error parsing ${name}: ${count}`));
  };
  if (changed("completedIndexes")) check(completed, completedPath, "completedIndexes");
  if (changed("failedIndexes") && failed !== undefined && backoffLimitPerIndex !== undefined) {
    check(failed, failedPath, "failedIndexes");
  }
  if (changed("completedIndexes") && completed !== "" && completionMode !== "Indexed") {
    const detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
    errors.push(invalid(completedPath, completed, detail));
  }
  if (failed === undefined) return errors;
  if (changed("failedIndexes") && backoffLimitPerIndex === undefined) {
    const detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    errors.push(invalid(failedPath, failed, detail));
  }
  if (completions === undefined || !changed("failedIndexes", "completedIndexes")) return errors;
  const common = commonIndex(failed, completed, completions);
  if (common === undefined) return errors;
  const detail = `failedIndexes and completedIndexes overlap at index: ${common}`;
  return [...errors, invalid(failedPath, failed, detail)];
}

function validatePods({ status, isFinished, turned, changed }: Change): FieldError[] {
  const { terminating = 0, ready, active = 0 } = status;
  const errors: FieldError[] = [];
  if (isFinished && terminating > 0 && (turned("Complete", "Failed") || changed("terminating"))) {
    const detail = "terminating>0 is invalid for finished job";
    errors.push(invalid(statusPath.child("terminating"), terminating, detail));
  }
  if (changed("ready", "active") && ready !== undefined && ready > active) {
    errors.push(invalid(statusPath.child("ready"), ready, "cannot set more ready pods than active"));
  }
  return errors;
}

function validateSuccessCriteria({ job, is }: Change, isAllowed: boolean): FieldError[] {
  const { successPolicy, completionMode } = job.spec;
  if (!is("SuccessCriteriaMet")) {
    const detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
    return successPolicy !== undefined && is("Complete") ? [invalidPart(conditionsPath, detail)] : [];
  }
  const errors: FieldError[] = [];
  if (!isAllowed && completionMode !== "Indexed") {
    errors.push(invalidPart(conditionsPath, "cannot set SuccessCriteriaMet to NonIndexed Job"));
  }
  for (const type of ["Failed", "FailureTarget"] as const) {
    if (is(type)) errors.push(conflict("SuccessCriteriaMet", type));
  }
  if (!isAllowed && successPolicy === undefined) {
    const detail = "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy";
    errors.push(invalidPart(conditionsPath, detail));
  }
  return errors;
}

/** Returns findings about changes that a status must not go through, such as a counter that decreases. */
function validateTransition({ job, status, old, lost, changed }: Change): FieldError[] {
  const errors: FieldError[] = [];
  for (const type of ["Complete", "Failed", "FailureTarget"] as const) {
    if (lost(type)) errors.push(invalidPart(conditionsPath, `cannot disable the terminal ${type}=True condition`));
  }
  const { completions, parallelism, completionMode } = job.spec;
  // An indexed job that may change its completions together with its parallelism may lose successes.
  const isElastic = completionMode === "Indexed" && completions === parallelism;
  for (const name of isElastic ? (["failed"] as const) : (["failed", "succeeded"] as const)) {
    const count = status[name] ?? 0;
    if (count >= (old[name] ?? 0)) continue;
    errors.push(invalid(statusPath.child(name), count, `cannot decrease the ${name} counter`));
  }
  const { completionTime } = status;
  if (completionTime !== undefined && old.completionTime !== undefined && changed("completionTime")) {
    errors.push(invalid(completionPath, goTime(completionTime), "completionTime cannot be mutated"));
  }
  if (old.startTime !== undefined && changed("startTime") && job.spec.suspend !== true) {
    errors.push(required(startPath, "startTime cannot be removed for unsuspended job"));
  }
  return errors;
}
