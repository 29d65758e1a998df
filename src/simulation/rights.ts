/** The user of the simulation, and the rights that it needs: no more, so that it can be trusted with a server. */
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

/** The name of the user, of its role and of the binding of both. */
export const simulationUser = "system:simulated-workloads";

const follow = ["get", "list", "watch"];

/** Returns the rules of the role, with the names of a domain. */
export const rulesIn = ({ rename }: ApiDomain): readonly PolicyRule[] => {
  const workloads = ["deployments", "replicasets", "statefulsets", "daemonsets"];
  const batches = ["jobs", "cronjobs"];
  const parts = (resources: readonly string[], part: string): readonly string[] =>
    resources.map((resource) => `${resource}/${part}`);
  return [
    rule("", ["pods"], [...follow, "create", "patch", "delete"]),
    rule("", ["pods/binding"], ["create"]),
    rule("", ["nodes"], [...follow, "create", "patch"]),
    rule("", ["nodes/status"], ["patch"]),
    rule("", ["persistentvolumeclaims", "persistentvolumes"], [...follow, "create", "update", "delete"]),
    rule("", ["services"], follow),
    rule("", parts(["pods", "persistentvolumeclaims", "persistentvolumes", "services"], "status"), ["update"]),
    rule("apps", workloads, [...follow, "patch"]),
    rule("apps", ["replicasets", "controllerrevisions"], [...follow, "create", "update", "patch", "delete"]),
    rule("apps", [...parts(workloads, "status"), ...parts(workloads, "finalizers")], ["update"]),
    rule("batch", batches, [...follow, "create", "delete"]),
    rule("batch", [...parts(batches, "status"), ...parts(batches, "finalizers")], ["update"]),
    rule(rename("storage.k8s.io"), ["storageclasses"], follow),
    rule(rename("coordination.k8s.io"), ["leases"], ["get", "create", "update", "patch"]),
    rule(rename("events.k8s.io"), ["events"], ["create", "patch"]),
  ];
};

function rule(group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}
