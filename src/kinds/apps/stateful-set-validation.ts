/**
 * Validates stateful sets and their status. Upstream checks neither the spec of their pods nor their claim templates.
 * Source: `ValidateStatefulSet` in upstream's `pkg/apis/apps/validation`.
 */
import type { StatefulSet, StatefulSetSpec } from "#api/apps/v1.ts";
import type { PodTemplateSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { addAll } from "#std/add-all.ts";
import { validateAtMost100Percent, validateNumberOrPercent } from "../numbers.ts";
import {
  validateCollisions,
  validateCounts,
  validateReplicas,
  validateRunning,
  validateSelected,
} from "./workload-validation.ts";

const specPath = FieldPath.of("spec");
const templatePath = specPath.child("template");
const strategyPath = specPath.child("updateStrategy");
const rollingPath = strategyPath.child("rollingUpdate");
const retentionPath = specPath.child("persistentVolumeClaimRetentionPolicy");
const statusPath = FieldPath.of("status");
const managementPolicies = ["OrderedReady", "Parallel"];
const retentionPolicies = ["Retain", "Delete"];
const words = { called: "statefulset", unreadable: "" };

export function validateStatefulSet({ spec }: StatefulSet): FieldError[] {
  const { podManagementPolicy: management = "", ordinals } = spec;
  return [
    ...(managementPolicies.includes(management)
      ? []
      : [invalid(specPath.child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'")]),
    ...validateStrategy(spec),
    ...validateRetention(spec),
    ...validateCounts(spec, ["replicas", "minReadySeconds"], specPath),
    ...(ordinals === undefined ? [] : validateCounts(ordinals, ["start"], specPath.child("ordinals"))),
    ...validateSelected(spec, words, validateTemplate),
    ...validateRunning(spec.template, "StatefulSet"),
  ];
}

function validateTemplate({ metadata }: PodTemplateSpec): FieldError[] {
  const errors = validateLabels(metadata.labels, templatePath.child("labels"));
  validateAnnotations(metadata.annotations, templatePath.child("annotations"), errors);
  return errors;
}

function validateStrategy({ updateStrategy }: StatefulSetSpec): FieldError[] {
  const { type = "", rollingUpdate } = updateStrategy;
  if (type === "") return [required(strategyPath)];
  if (type === "OnDelete") {
    if (rollingUpdate === undefined) return [];
    return [invalid(rollingPath, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")];
  }
  if (type !== "RollingUpdate") {
    return [invalid(strategyPath, updateStrategy, "must be 'RollingUpdate' or 'OnDelete'")];
  }
  if (rollingUpdate === undefined) return [];
  const { maxUnavailable } = rollingUpdate;
  const errors = validateCounts(rollingUpdate, ["partition"], rollingPath);
  if (maxUnavailable === undefined) return errors;
  const path = rollingPath.child("maxUnavailable");
  addAll(errors, validateNumberOrPercent(maxUnavailable, path));
  if (maxUnavailable === 0 || maxUnavailable === "0%") {
    errors.push(invalid(path, maxUnavailable, "cannot be 0"));
  }
  return [...errors, ...validateAtMost100Percent(maxUnavailable, path)];
}

function validateRetention({ persistentVolumeClaimRetentionPolicy: retention }: StatefulSetSpec): FieldError[] {
  if (retention === undefined) return [];
  return (["whenDeleted", "whenScaled"] as const).flatMap((name) => {
    const policy = retention[name] ?? "";
    return retentionPolicies.includes(policy)
      ? []
      : [notSupported(retentionPath.child(name), policy, retentionPolicies)];
  });
}

const changeable: readonly (keyof StatefulSetSpec)[] = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

/**
 * Returns findings about an update. Most fields of the spec are immutable, since existing pods and claims depend on
 * them.
 */
export function validateStatefulSetUpdate({ spec }: StatefulSet, { spec: old }: StatefulSet): FieldError[] {
  const names = Object.keys({ ...old, ...spec }) as (keyof StatefulSetSpec)[]; // the names of existing fields
  if (names.every((name) => changeable.includes(name) || jsonEquals(spec[name] ?? null, old[name] ?? null))) return [];
  const shown = changeable.map((name) => `'${name}'`);
  const list = `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
  return [forbidden(FieldPath.of("spec"), `updates to statefulset spec for fields other than ${list} are forbidden`)];
}

export function validateStatefulSetStatus({ status }: StatefulSet, old: StatefulSet): FieldError[] {
  const parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] as const;
  return [
    ...validateCounts(status, ["replicas", ...parts, "observedGeneration", "collisionCount"], statusPath),
    ...validateReplicas(status, parts, "status.readyReplicas"),
    ...validateCollisions(status, old.status),
  ];
}
