/** Warnings about deprecated node labels in the scheduling rules of a pod. Source: the answers of kube-apiserver. */
import type { PodSpec } from "#api/core/v1.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { labelWarnings, type NodeLabels, nodeSelectorWarnings, requirementWarnings } from "../node-labels.ts";

/** Returns warnings about a pod spec at `path`. */
export function nodeLabelWarnings(spec: PodSpec, path: FieldPath, labels: NodeLabels): string[] {
  const pathOf = (label: string): FieldPath => path.child("nodeSelector").key(label);
  const warnings = labelWarnings(Object.keys(spec.nodeSelector ?? {}), pathOf, labels);
  if (spec.affinity?.nodeAffinity === undefined) return warnings;
  const affinityPath = path.child("affinity", "nodeAffinity");
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
  } = spec.affinity.nodeAffinity;
  const requiredPath = affinityPath.child("requiredDuringSchedulingIgnoredDuringExecution");
  addAll(warnings, nodeSelectorWarnings(required, requiredPath, labels));
  const preferredPath = affinityPath.child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const [i, { preference }] of preferred.entries()) {
    const at = preferredPath.index(i).child("preference", "matchExpressions");
    addAll(warnings, requirementWarnings(preference.matchExpressions, at, labels));
  }
  return warnings;
}
