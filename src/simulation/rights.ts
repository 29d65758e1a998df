/** The user of the simulation, and the rights that it needs: no more, so that it can be trusted with a server. */
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

/** The name of the user, of its role and of the binding of both. */
export const simulationUser = "system:simulated-workloads";

const follow = ["get", "list", "watch"];

/** Returns the rules of the role, with the names of a domain. */
export const rulesIn = ({ rename }: ApiDomain): readonly PolicyRule[] => [
  rule("", ["pods"], [...follow, "create", "patch", "delete"]),
  rule("", ["pods/binding"], ["create"]),
  rule("", ["pods/status", "nodes/status"], ["update"]),
  rule("", ["nodes"], [...follow, "create", "patch"]),
  rule("", ["persistentvolumeclaims"], [...follow, "create", "update", "patch", "delete"]),
  rule("", ["persistentvolumes"], [...follow, "create", "update", "delete"]),
  rule("", ["persistentvolumeclaims/status", "persistentvolumes/status", "services/status"], ["update"]),
  rule("", ["services"], follow),
  rule("apps", ["deployments", "statefulsets", "daemonsets"], [...follow, "patch"]),
  rule("apps", ["replicasets", "controllerrevisions"], [...follow, "create", "update", "patch", "delete"]),
  rule("apps", ["deployments/status", "replicasets/status", "statefulsets/status", "daemonsets/status"], ["update"]),
  rule(
    "apps",
    ["deployments/finalizers", "replicasets/finalizers", "statefulsets/finalizers", "daemonsets/finalizers"],
    ["update"],
  ),
  rule("batch", ["jobs"], [...follow, "create", "patch", "delete"]),
  rule("batch", ["cronjobs"], follow),
  rule("batch", ["jobs/status", "cronjobs/status", "jobs/finalizers", "cronjobs/finalizers"], ["update"]),
  rule(rename("storage.k8s.io"), ["storageclasses"], follow),
  rule(rename("coordination.k8s.io"), ["leases"], ["get", "create", "update", "patch"]),
  rule(rename("events.k8s.io"), ["events"], ["create", "patch"]),
];

const rule = (group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  apiGroups: [group],
  resources,
  verbs,
});
