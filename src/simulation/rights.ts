/** The user of the simulation, and the rights that it needs: no more, so that it can be trusted with a server. */
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

/** The name of the user, of its role and of the binding of both. */
export const simulationUser = "system:simulated-workloads";

const follow = ["get", "list", "watch"];
const workloads = ["deployments", "replicasets", "statefulsets", "daemonsets"];
const batches = ["jobs", "cronjobs"];
const partsOf = (resources: readonly string[], part: string) => resources.map((resource) => `${resource}/${part}`);

/** Returns the rules of the role, with the names of a domain. */
export function rulesIn({ rename }: ApiDomain): readonly PolicyRule[] {
  const rules: readonly (readonly [group: string, resources: readonly string[], verbs: readonly string[]])[] = [
    ["", ["pods"], [...follow, "create", "patch", "delete"]],
    ["", ["pods/binding"], ["create"]],
    ["", ["nodes"], [...follow, "create", "patch"]],
    ["", ["nodes/status"], ["patch"]],
    ["", ["persistentvolumeclaims", "persistentvolumes"], [...follow, "create", "update", "delete"]],
    ["", ["services"], follow],
    ["", partsOf(["pods", "persistentvolumeclaims", "persistentvolumes", "services"], "status"), ["update"]],
    ["apps", workloads, [...follow, "patch"]],
    ["apps", ["replicasets", "controllerrevisions"], [...follow, "create", "update", "patch", "delete"]],
    ["apps", [...partsOf(workloads, "status"), ...partsOf(workloads, "finalizers")], ["update"]],
    ["batch", batches, [...follow, "create", "delete"]],
    ["batch", [...partsOf(batches, "status"), ...partsOf(batches, "finalizers")], ["update"]],
    [rename("storage.k8s.io"), ["storageclasses"], follow],
    [rename("coordination.k8s.io"), ["leases"], ["get", "create", "update", "patch"]],
    [rename("events.k8s.io"), ["events"], ["create", "patch"]],
  ];
  return rules.map(([group, resources, verbs]) => ({ apiGroups: [group], resources, verbs }));
}
