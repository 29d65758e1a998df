/**
 * Turns `matchLabelKeys` and `mismatchLabelKeys` of affinity terms into requirements of their selectors, with the
 * values of the pod's own labels. This happens once, when a pod is created. Source: the answers of kube-apiserver.
 */
import type { Affinity, Pod, PodAffinityTerm, PodSpec } from "#api/core/v1.ts";
import { editField, editItems, withField } from "../edit.ts";

type Labels = Readonly<Record<string, string>>;

/** Returns the pod with the requirements of its affinity terms. */
export function withKeyRequirements(pod: Pod): Pod {
  const { labels = {} } = pod.metadata;
  const term = (one: PodAffinityTerm): PodAffinityTerm => withRequirements(one, labels);
  return editField(pod, "spec", (spec: PodSpec) =>
    editField(spec, "affinity", (affinity: Affinity) =>
      (["podAffinity", "podAntiAffinity"] as const).reduce(
        (next, name) =>
          editField(next, name, (terms) =>
            editItems(
              editItems(terms, "requiredDuringSchedulingIgnoredDuringExecution", term),
              "preferredDuringSchedulingIgnoredDuringExecution",
              (weighted) => editField(weighted, "podAffinityTerm", term),
            ),
          ),
        affinity,
      ),
    ),
  );
}

function withRequirements(term: PodAffinityTerm, labels: Labels): PodAffinityTerm {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  if (matchLabelKeys.length === 0 && mismatchLabelKeys.length === 0) return term; // this is the usual case
  const requirements = [
    ...requirementsOf(matchLabelKeys, "In", labels),
    ...requirementsOf(mismatchLabelKeys, "NotIn", labels),
  ];
  if (labelSelector === undefined || requirements.length === 0) return term;
  const matchExpressions = [...(labelSelector.matchExpressions ?? []), ...requirements];
  return withField(term, "labelSelector", { ...labelSelector, matchExpressions });
}

const requirementsOf = (keys: readonly string[], operator: string, labels: Labels) =>
  keys.flatMap((key) => (Object.hasOwn(labels, key) ? [{ key, operator, values: [labels[key]!] }] : []));
