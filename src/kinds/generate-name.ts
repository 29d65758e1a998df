/**
 * The built-in kinds that check `generateName` in updates of the main resource, as all do in creates. Source: the answers
 * of kube-apiserver.
 */

/** The kinds that do not, by Kubernetes' names of groups. Definitions and APIServices have a check of their own. */
const unchecked: Readonly<Record<string, readonly string[]>> = {
  "": ["Event", "PodTemplate", "ResourceQuota"],
  "apiextensions.k8s.io": ["CustomResourceDefinition"],
  "apiregistration.k8s.io": ["APIService"],
  apps: ["Deployment", "StatefulSet"],
  autoscaling: ["HorizontalPodAutoscaler"],
  batch: ["CronJob"],
  "certificates.k8s.io": ["CertificateSigningRequest"],
  "coordination.k8s.io": ["Lease", "LeaseCandidate"],
  "events.k8s.io": ["Event"],
  "internal.apiserver.k8s.io": ["StorageVersion"],
  policy: ["PodDisruptionBudget"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "resource.k8s.io": ["ResourceSlice"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver"],
};

/** Whether updates of a kind check it; `group` is Kubernetes' name of the group. */
export const checksGenerateName = (group: string, kind: string): boolean => unchecked[group]?.includes(kind) !== true;
