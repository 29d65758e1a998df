/** Validates deployments and their status. Source: `ValidateDeployment` in upstream's `pkg/apis/apps/validation`. */
import type { Deployment, DeploymentStrategy, RollingUpdateDeployment } from "#api/apps/v1.ts";
import { type FieldError, forbidden, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import { numberOf, validateAtMost100Percent, validateNumberOrPercent } from "../numbers.ts";
import {
  validateCollisions,
  validateCounts,
  validateReplicas,
  validateRunningTemplate,
  validateSelected,
} from "./workload-validation.ts";

const specPath = FieldPath.of("spec");
const strategyPath = specPath.child("strategy");
const rollingPath = strategyPath.child("rollingUpdate");
const deadlinePath = specPath.child("progressDeadlineSeconds");
const statusPath = FieldPath.of("status");
const strategies = ["Recreate", "RollingUpdate"];
const words = { called: "deployment", unreadable: "invalid label selector" };

export function validateDeployment({ spec }: Deployment, rules: PodRules): FieldError[] {
  const errors = [
    ...validateCounts(spec, ["replicas"], specPath),
    ...validateSelected(spec, words, (template) => validateRunningTemplate(template, "ReplicaSet", rules)),
    ...validateStrategy(spec.strategy),
    ...validateCounts(spec, ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"], specPath),
  ];
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  if (deadline !== undefined && deadline <= minReadySeconds) {
    errors.push(invalid(deadlinePath, deadline, "must be greater than minReadySeconds"));
  }
  return errors;
}

function validateStrategy(strategy: DeploymentStrategy): FieldError[] {
  const { type = "", rollingUpdate } = strategy;
  if (type === "RollingUpdate") return rollingUpdate === undefined ? [] : validateRollingUpdate(rollingUpdate);
  if (type !== "Recreate") return [notSupported(strategyPath, strategy, strategies)];
  if (rollingUpdate === undefined) return [];
  return [forbidden(rollingPath, "may not be specified when strategy `type` is 'Recreate'")];
}

function validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: RollingUpdateDeployment): FieldError[] {
  const path = rollingPath.child("maxUnavailable");
  const errors = [
    ...validateNumberOrPercent(maxUnavailable, path),
    ...validateNumberOrPercent(maxSurge, rollingPath.child("maxSurge")),
  ];
  if (numberOf(maxUnavailable) === 0 && numberOf(maxSurge) === 0) {
    errors.push(invalid(path, maxUnavailable, "may not be 0 when `maxSurge` is 0"));
  }
  return [...errors, ...validateAtMost100Percent(maxUnavailable, path)];
}

export function validateDeploymentStatus({ status }: Deployment, old: Deployment): FieldError[] {
  const parts = ["updatedReplicas", "readyReplicas", "availableReplicas"] as const;
  const counts = ["observedGeneration", "replicas", ...parts, "unavailableReplicas", "collisionCount"] as const;
  return [
    ...validateCounts(status, counts, statusPath),
    ...validateReplicas(status, parts),
    ...validateCollisions(status, old.status),
  ];
}
