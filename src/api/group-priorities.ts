/**
 * Priorities of built-in groups and their versions, which decide the group and version that clients prefer. Source:
 * `aggregator.go` of `controlplane/apiserver`.
 */

/**
 * Each group with Kubernetes' name, its priority, and the priorities of its versions. Versions that are not listed have
 * no APIService.
 */
export const groupPriorities: readonly (readonly [name: string, priority: number, versions: Readonly<Record<string, number>>])[] = [
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
  ["coordination.k8s.io", 16500, { v1: 15, v1alpha2: 12 }],
  ["node.k8s.io", 16300, { v1: 15, v1alpha1: 1, v1beta1: 9 }],
  ["discovery.k8s.io", 16200, { v1: 15, v1beta1: 12 }],
  ["resource.k8s.io", 16200, { v1beta1: 9, v1alpha3: 1 }],
  ["flowcontrol.apiserver.k8s.io", 16100, { v1: 21, v1beta3: 18, v1beta2: 15, v1beta1: 12, v1alpha1: 9 }],
  ["internal.apiserver.k8s.io", 16000, { v1alpha1: 9 }],
  ["storagemigration.k8s.io", 15800, { v1alpha1: 9 }],
];
