/** Validates daemon sets and their status. Source: `ValidateDaemonSet` in upstream's `pkg/apis/apps/validation`. */
import type { DaemonSet, DaemonSetUpdateStrategy, RollingUpdateDaemonSet } from "#api/apps/v1.ts";
import { type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { addAll } from "#std/add-all.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import { validatePodTemplateSpec } from "../core/pod-validation.ts";
import { numberOf, validateAtMost100Percent, validateNumberOrPercent } from "../numbers.ts";
import {
  invalidSelector,
  isEmpty,
  validateCollisions,
  validateCounts,
  validateMatch,
  validateRunning,
} from "./workload-validation.ts";

const specPath = FieldPath.of("spec");
const templatePath = specPath.child("template");
const strategyPath = specPath.child("updateStrategy");
const rollingPath = strategyPath.child("rollingUpdate");
const strategies = ["RollingUpdate", "OnDelete"];

export function validateDaemonSet({ spec }: DaemonSet, rules: PodRules): FieldError[] {
  const { selector, template, updateStrategy } = spec;
  const errors = selector === null ? [] : validateLabelSelector(selector, specPath.child("selector"));
  if (errors.length === 0) addAll(errors, validateMatch(selector, template));
  if (selector !== null && isEmpty(selector)) {
    errors.push(invalidSelector(selector, "empty selector is invalid for daemonset"));
  }
  return [
    ...errors,
    ...validatePodTemplateSpec(template, templatePath, rules),
    ...validateRunning(template, "DaemonSet"),
    ...validateCounts(spec, ["minReadySeconds"], specPath),
    ...validateStrategy(updateStrategy),
    ...validateCounts(spec, ["revisionHistoryLimit"], specPath),
  ];
}

function validateStrategy(strategy: DaemonSetUpdateStrategy): FieldError[] {
  const { type = "", rollingUpdate } = strategy;
  if (type === "OnDelete") return [];
  if (type === "RollingUpdate") {
    return rollingUpdate === undefined ? [required(rollingPath)] : validateRollingUpdate(rollingUpdate);
  }
  return [notSupported(strategyPath, strategy, strategies)];
}

/**
 * Returns findings about a rolling update. While pods are replaced, some are missing or there are too many, so one of
 * the two numbers must not be zero.
 */
function validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: RollingUpdateDaemonSet): FieldError[] {
  const [unavailablePath, surgePath] = [rollingPath.child("maxUnavailable"), rollingPath.child("maxSurge")];
  const errors = [
    ...validateNumberOrPercent(maxUnavailable, unavailablePath),
    ...validateNumberOrPercent(maxSurge, surgePath),
    ...validateAtMost100Percent(maxUnavailable, unavailablePath),
    ...validateAtMost100Percent(maxSurge, surgePath),
  ];
  const isUnavailable = numberOf(maxUnavailable) !== 0;
  const isSurge = numberOf(maxSurge) !== 0;
  if (isUnavailable && isSurge) {
    errors.push(invalid(surgePath, maxSurge, "may not be set when maxUnavailable is non-zero"));
  }
  if (!isUnavailable && !isSurge) errors.push(required(unavailablePath, "cannot be 0 when maxSurge is 0"));
  return errors;
}

export function validateDaemonSetStatus({ status }: DaemonSet, old: DaemonSet): FieldError[] {
  const counts = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ] as const;
  return [...validateCounts(status, counts, FieldPath.of("status")), ...validateCollisions(status, old.status)];
}
