/** Labels of nodes that go by newer names, and what clients are told who use the old ones. Source: the answers of kube-apiserver. */
import type { NodeSelector } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { about } from "./checks.ts";

export interface NodeLabels {
  /** The newer name of a label; of those that have none, and of roles, `undefined`. */
  renamed(key: string): string | undefined;
  /** What is said about a label that has a newer name. */
  advice(key: string): string | undefined;
}

const renames: readonly (readonly [old: string, since: string, name: string])[] = [
  ["beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"],
  ["beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"],
  ["failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"],
  ["failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"],
  ["beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"],
];

export function nodeLabels({ rename }: ApiDomain): NodeLabels {
  const names = new Map(renames.map(([old, , name]) => [rename(old), rename(name)]));
  const advices = new Map(
    renames.map(([old, since, name]) => [rename(old), `deprecated since ${since}; use "${rename(name)}" instead`]),
  );
  const controlPlane = rename("node-role.kubernetes.io/control-plane");
  advices.set(rename("node-role.kubernetes.io/master"), `use "${controlPlane}" instead`);
  return { renamed: (key) => names.get(key), advice: (key) => advices.get(key) };
}

/** Warnings about the keys of requirements at `path`, each of which names its key. */
export const keyWarnings = (
  requirements: readonly { readonly key?: string }[] | null | undefined,
  path: FieldPath,
  labels: NodeLabels,
): string[] =>
  (requirements ?? []).flatMap(({ key = "" }, i) => {
    const advice = labels.advice(key);
    return advice === undefined ? [] : [about(path.index(i).child("key"), `${key} is ${advice}`)];
  });

/** The same about the terms of a selector. */
export const nodeSelectorWarnings = (
  selector: NodeSelector | undefined,
  path: FieldPath,
  labels: NodeLabels,
): string[] =>
  (selector?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions }, i) =>
    keyWarnings(matchExpressions, path.child("nodeSelectorTerms").index(i).child("matchExpressions"), labels),
  );
