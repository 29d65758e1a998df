/** Removes the protection finalizer of a deleted claim once no scheduled pod of its namespace uses it. */
import type { PersistentVolumeClaim, Pod } from "#api/core/v1.ts";
import { protectionController } from "./protection.ts";

export const claimProtectionController = protectionController<PersistentVolumeClaim>({
  finalizer: "kubernetes.io/pvc-protection",
  what: "claim",
  path: "/api/v1/persistentvolumeclaims",
  pathOf: (namespace, name) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`,
  async isUsed({ metadata: { namespace, name = "" } }, client) {
    const pods = await client.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
    return pods.items.some((pod) => uses(pod, name));
  },
});

/** An unscheduled pod does not use the claim, and will not start with a claim that is being deleted. */
function uses(pod: Pod, claim: string): boolean {
  if ((pod.spec.nodeName ?? "") === "") return false;
  return (pod.spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim?.claimName === claim ||
      (volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === claim),
  );
}
