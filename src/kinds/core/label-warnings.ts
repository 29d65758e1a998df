/** Warnings about labels of nodes that have other names now. Source: the answers of kube-apiserver. */
import type { NodeSelectorTerm, PodSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";

/** What is said of a label, by its name. */
export type LabelWarnings = ReadonlyMap<string, string>;

export function labelWarnings({ rename }: ApiDomain): LabelWarnings {
  const use = (name: string, now: string, since?: string): readonly [string, string] => {
    const instead = `use ${goQuote(rename(now))} instead`;
    return [rename(name), since === undefined ? instead : `deprecated since ${since}; ${instead}`];
  };
  return new Map([
    use("beta.kubernetes.io/arch", "kubernetes.io/arch", "v1.14"),
    use("beta.kubernetes.io/os", "kubernetes.io/os", "v1.14"),
    use("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "v1.17"),
    use("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", "v1.17"),
    use("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "v1.17"),
    use("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"),
  ]);
}

/** Warnings about where a pod may run; `path` is that of its spec. */
export function nodeLabelWarnings(spec: PodSpec, path: FieldPath, known: LabelWarnings): string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(spec.nodeSelector ?? {})) {
    const text = known.get(label);
    if (text !== undefined) warnings.push(`${String(path.child("nodeSelector").key(label))}: ${text}`);
  }
  const affinityPath = path.child("affinity", "nodeAffinity");
  const {
    requiredDuringSchedulingIgnoredDuringExecution: needed,
    preferredDuringSchedulingIgnoredDuringExecution: liked = [],
  } = spec.affinity?.nodeAffinity ?? {};
  const neededPath = affinityPath.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms");
  for (const [i, term] of (needed?.nodeSelectorTerms ?? []).entries()) {
    warnings.push(...termWarnings(term, neededPath.index(i), known));
  }
  const likedPath = affinityPath.child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const [i, { preference }] of liked.entries()) {
    warnings.push(...termWarnings(preference, likedPath.index(i).child("preference"), known));
  }
  return warnings;
}

function termWarnings({ matchExpressions = [] }: NodeSelectorTerm, path: FieldPath, known: LabelWarnings): string[] {
  return matchExpressions.flatMap(({ key }, i) =>
    keyWarnings(key, path.child("matchExpressions").index(i).child("key"), known),
  );
}

/** Of a field that holds the name of a label. */
export function keyWarnings(label: string, path: FieldPath, known: LabelWarnings): string[] {
  const text = known.get(label);
  return text === undefined ? [] : [`${String(path)}: ${label} is ${text}`];
}
