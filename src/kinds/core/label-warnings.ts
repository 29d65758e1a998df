/** Warnings about pods whose place is chosen by labels of nodes that go by newer names. Source: the answers of kube-apiserver. */
import type { PodSpec } from "#api/core/v1.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { about } from "../checks.ts";
import { keyWarnings, type NodeLabels, nodeSelectorWarnings } from "../node-labels.ts";

/** `path` is that of the spec. */
export function nodeLabelWarnings(spec: PodSpec, path: FieldPath, labels: NodeLabels): string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(spec.nodeSelector ?? {})) {
    const advice = labels.advice(label);
    if (advice !== undefined) warnings.push(about(path.child("nodeSelector").key(label), advice));
  }
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
  } = spec.affinity?.nodeAffinity ?? {};
  const affinityPath = path.child("affinity", "nodeAffinity");
  const requiredPath = affinityPath.child("requiredDuringSchedulingIgnoredDuringExecution");
  warnings.push(...nodeSelectorWarnings(required, requiredPath, labels));
  for (const [i, { preference }] of preferred.entries()) {
    const at = affinityPath.child("preferredDuringSchedulingIgnoredDuringExecution").index(i);
    warnings.push(...keyWarnings(preference.matchExpressions, at.child("preference", "matchExpressions"), labels));
  }
  return warnings;
}
