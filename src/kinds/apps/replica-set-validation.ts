/**
 * Validates replica sets and replication controllers, and their status. Source: `ValidateReplicaSet` and
 * `ValidateReplicationController` in upstream's `pkg/apis`.
 */
import type { ReplicaSet, ReplicaSetStatus } from "#api/apps/v1.ts";
import type { ReplicationController, ReplicationControllerStatus } from "#api/core/v1.ts";
import { type FieldError, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import {
  mismatch,
  validateCounts,
  validateReplicas,
  validateRunningTemplate,
  validateSelected,
} from "./workload-validation.ts";

const specPath = FieldPath.of("spec");
// Upstream: the message about an empty selector mentions a deployment.
const words = { called: "deployment", unreadable: "invalid label selector" };

export function validateReplicaSet({ spec }: ReplicaSet, rules: PodRules): FieldError[] {
  return [
    ...validateCounts(spec, ["replicas", "minReadySeconds"], specPath),
    ...validateSelected(spec, words, (template) => validateRunningTemplate(template, "ReplicaSet", rules)),
  ];
}

export function validateReplicationController({ spec }: ReplicationController, rules: PodRules): FieldError[] {
  const { template } = spec;
  const selector = Object.entries(spec.selector ?? {});
  const errors = validateCounts(spec, ["minReadySeconds"], specPath);
  if (selector.length === 0) errors.push(required(specPath.child("selector")));
  addAll(errors, validateCounts(spec, ["replicas"], specPath));
  if (template === undefined) return [...errors, required(specPath.child("template"))];
  const { labels = {} } = template.metadata;
  if (selector.some(([key, value]) => labels[key] !== value)) errors.push(mismatch(template.metadata.labels));
  return [...errors, ...validateRunningTemplate(template, "ReplicationController", rules)];
}

/** Returns findings about the status of both kinds, which count replicas in the same fields. */
export function validateReplicaSetStatus(object: {
  readonly status: ReplicaSetStatus | ReplicationControllerStatus;
}): FieldError[] {
  const parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const;
  return [
    ...validateCounts(object.status, ["replicas", ...parts, "observedGeneration"], FieldPath.of("status")),
    ...validateReplicas(object.status, parts),
  ];
}
