/**
 * ExtendedResourceToleration: pods that request devices tolerate the taints that keep other pods from the nodes with
 * them. Source of rules: the answers of kube-apiserver.
 */
import { initialContainers } from "#api/core/containers.ts";
import type { Pod, Toleration } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { resourceNames } from "./extended-resources.ts";
import { type AdmissionPlugin, isPods } from "./plugin.ts";

export function extendedResourceToleration({ domain }: { readonly domain: ApiDomain }): AdmissionPlugin {
  const { isExtended } = resourceNames(domain);
  return {
    name: "ExtendedResourceToleration",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return undefined;
      const pod = attributes.object as Pod; // of the resource
      const requested = initialContainers(pod.spec).flatMap(({ resources }) => Object.keys(resources.requests ?? {}));
      const devices = [...new Set(requested.filter(isExtended))].toSorted();
      const before = pod.spec.tolerations ?? [];
      const after = devices.reduce(withDevice, before);
      return after === before ? undefined : { ...pod, spec: { ...pod.spec, tolerations: after } };
    },
  };
}

/** Adds the toleration of a device, or takes the time from it if it is there. */
function withDevice(tolerations: readonly Toleration[], key: string): readonly Toleration[] {
  const added = { key, operator: "Exists", effect: "NoSchedule" };
  const at = tolerations.findIndex(
    (one) => one.key === key && one.operator === "Exists" && one.effect === "NoSchedule" && (one.value ?? "") === "",
  );
  if (at < 0) return [...tolerations, added];
  return tolerations[at]!.tolerationSeconds === undefined ? tolerations : tolerations.with(at, added);
}
