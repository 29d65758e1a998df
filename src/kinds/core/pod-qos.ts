/** The quality-of-service class of a pod, from the requests and limits of the pod or of its containers. */
import type { PodSpec, ResourceRequirements } from "#api/core/v1.ts";
import { compareQuantityTexts } from "#meta/quantity.ts";

/** Returns the quality-of-service class. Source: upstream's `ComputePodQOS`. */
export function qosClass(spec: PodSpec): "BestEffort" | "Burstable" | "Guaranteed" {
  let isAnything = false;
  let isGuaranteed = true;
  for (const { requests = {}, limits = {} } of countedResources(spec)) {
    for (const name of ["cpu", "memory"]) {
      const request = requests[name];
      const limit = limits[name];
      if (isPositive(request) || isPositive(limit)) isAnything = true;
      if (!isPositive(limit) || (request !== undefined && compareQuantityTexts(request, limit) !== 0))
        isGuaranteed = false;
      if (isAnything && !isGuaranteed) return "Burstable"; // whatever the others say
    }
  }
  return isAnything ? "Guaranteed" : "BestEffort";
}

/** Returns the resources that decide: those of the pod as a whole if it has some, else those of its containers. */
function countedResources({ resources, initContainers, containers }: PodSpec): readonly ResourceRequirements[] {
  const { requests = {}, limits = {} } = resources ?? {};
  const isWhole = Object.keys(requests).length > 0 || Object.keys(limits).length > 0;
  if (resources !== undefined && isWhole) return [resources];
  return [...(initContainers ?? []), ...(containers ?? [])].map((container) => container.resources);
}

const isPositive = (amount: string | undefined): amount is string =>
  amount !== undefined && compareQuantityTexts(amount, "0") > 0;
