/**
 * Priorities of the built-in APIService objects, which decide the group and version that clients prefer. Source:
 * upstream's `controlplane/apiserver`, `aggregator.go`.
 */

export interface ApiServicePriority {
  readonly group: number;
  readonly version: number;
}

/** Of all custom resources. */
export const customPriority: ApiServicePriority = { group: 1000, version: 100 };

/** Kubernetes' name of a group, its number, its versions with theirs. Versions that are not listed get no object. */
const rows: readonly (readonly [name: string, priority: number, versions: Readonly<Record<string, number>>])[] = [
  ["", 18000, { v1: 1 }],
  ["apps", 17800, { v1: 15 }],
  ["events.k8s.io", 17750, { v1: 15, v1beta1: 5 }],
  ["authentication.k8s.io", 17700, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  ["authorization.k8s.io", 17600, { v1: 15 }],
  ["autoscaling", 17500, { v1: 15, v2: 30, v2beta1: 9, v2beta2: 1 }],
  ["batch", 17400, { v1: 15, v1beta1: 9, v2alpha1: 9 }],
  ["certificates.k8s.io", 17300, { v1: 15, v1alpha1: 1 }],
  ["networking.k8s.io", 17200, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  ["policy", 17100, { v1: 15, v1beta1: 9 }],
  ["rbac.authorization.k8s.io", 17000, { v1: 15, v1beta1: 12, v1alpha1: 9 }],
  ["storage.k8s.io", 16800, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  ["apiextensions.k8s.io", 16700, { v1: 15 }],
  ["admissionregistration.k8s.io", 16700, { v1: 15, v1beta1: 12, v1alpha1: 9 }],
  ["scheduling.k8s.io", 16600, { v1: 15 }],
  ["coordination.k8s.io", 16500, { v1: 15, v1alpha2: 9 }],
  ["node.k8s.io", 16300, { v1: 15, v1alpha1: 1, v1beta1: 9 }],
  ["discovery.k8s.io", 16200, { v1: 15, v1beta1: 12 }],
  ["flowcontrol.apiserver.k8s.io", 16100, { v1: 21, v1beta3: 18, v1beta2: 15, v1beta1: 12, v1alpha1: 9 }],
  ["internal.apiserver.k8s.io", 16000, { v1alpha1: 9 }],
  ["resource.k8s.io", 15900, { v1beta1: 9, v1alpha3: 1 }],
  ["storagemigration.k8s.io", 15800, { v1alpha1: 9 }],
];

const groups: ReadonlyMap<string, { readonly priority: number; readonly versions: ReadonlyMap<string, number> }> =
  new Map(rows.map(([name, priority, versions]) => [name, { priority, versions: new Map(Object.entries(versions)) }]));

/** Kubernetes' names. */
export const builtInGroups: readonly string[] = [...groups.keys()];

/** Of a built-in group, by Kubernetes' name; `undefined` for versions that get no object. */
export function builtInPriority(group: string, version: string): ApiServicePriority | undefined {
  const found = groups.get(group);
  const number = found?.versions.get(version);
  return found === undefined || number === undefined ? undefined : { group: found.priority, version: number };
}
