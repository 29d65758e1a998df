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
      const after = withDevices(before, devices);
      return after.every((one, at) => one === before[at])
        ? undefined
        : { ...pod, spec: { ...pod.spec, tolerations: after } };
    },
  };
}

/** Adds the tolerations of devices, or takes the times from those that are there. */
function withDevices(tolerations: readonly Toleration[], devices: readonly string[]): readonly Toleration[] {
  const positions = new Map<string, number>();
  for (const [at, { key = "", operator, effect, value = "" }] of tolerations.entries()) {
    const isOfDevice = operator === "Exists" && effect === "NoSchedule" && value === "";
    if (isOfDevice && !positions.has(key)) positions.set(key, at);
  }
  const after = [...tolerations];
  for (const key of devices) {
    const at = positions.get(key) ?? after.length;
    if (after[at] === undefined || after[at].tolerationSeconds !== undefined) {
      after[at] = { key, operator: "Exists", effect: "NoSchedule" };
    }
  }
  return after;
}
