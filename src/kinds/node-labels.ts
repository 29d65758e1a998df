/** Deprecated labels of nodes, and warnings about them. Source: the answers of kube-apiserver. */
import type { NodeSelector, NodeSelectorRequirement } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import type { LabelSelectorRequirement } from "#meta/label-selector.ts";
import { warningAt } from "./checks.ts";

export interface NodeLabels {
  /** Returns the new name of a beta label; `undefined` for other labels. */
  renamed(label: string): string | undefined;
  /** Returns the text of a warning about a deprecated label; `undefined` for other labels. */
  advice(label: string): string | undefined;
}

const betaLabels: readonly (readonly [old: string, since: string, now: string])[] = [
  ["beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"],
  ["beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"],
  ["failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"],
  ["failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"],
  ["beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"],
];

export function nodeLabels({ rename }: ApiDomain): NodeLabels {
  const instead = (now: string): string => `use ${goQuote(rename(now))} instead`;
  const names = new Map(betaLabels.map(([old, , now]) => [rename(old), rename(now)]));
  const advices = new Map([
    ...betaLabels.map(([old, since, now]) => [rename(old), `deprecated since ${since}; ${instead(now)}`] as const),
    [rename("node-role.kubernetes.io/master"), instead("node-role.kubernetes.io/control-plane")] as const,
  ]);
  return { renamed: (label) => names.get(label), advice: (label) => advices.get(label) };
}

/** Returns warnings about the labels in a field; `pathOf` returns the path of a label. */
export function labelWarnings(
  labels: Iterable<string>,
  pathOf: (label: string) => FieldPath,
  labelRules: NodeLabels,
): string[] {
  const warnings: string[] = [];
  for (const label of labels) {
    const advice = labelRules.advice(label);
    if (advice !== undefined) warnings.push(warningAt(pathOf(label), advice));
  }
  return warnings;
}

/** Returns warnings about a field that holds the name of a label. */
export function keyWarnings(label: string, path: FieldPath, labels: NodeLabels): string[] {
  const advice = labels.advice(label);
  return advice === undefined ? [] : [warningAt(path, `${label} is ${advice}`)];
}

/** Returns warnings about a list of requirements, each of which names a label. */
export const requirementWarnings = (
  requirements: readonly (NodeSelectorRequirement | LabelSelectorRequirement)[] | null | undefined,
  path: FieldPath,
  labels: NodeLabels,
): string[] => (requirements ?? []).flatMap(({ key = "" }, i) => keyWarnings(key, path.index(i).child("key"), labels));

export const nodeSelectorWarnings = (
  selector: NodeSelector | undefined,
  path: FieldPath,
  labels: NodeLabels,
): string[] =>
  (selector?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions }, i) =>
    requirementWarnings(matchExpressions, path.child("nodeSelectorTerms").index(i).child("matchExpressions"), labels),
  );
