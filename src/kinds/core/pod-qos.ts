/** The quality-of-service class of a pod, from the requests and limits of the pod or of its containers. */
import type { PodSpec, ResourceRequirements } from "#api/core/v1.ts";
import { parseQuantity } from "#meta/quantity.ts";
import { compareQuantityTexts } from "./claim-spec.ts";

/** Returns the quality-of-service class. Source: upstream's `ComputePodQOS`. */
export function qosClass(spec: PodSpec): "BestEffort" | "Burstable" | "Guaranteed" {
  let isAnything = false;
  let isGuaranteed = true;
  for (const { requests = {}, limits = {} } of countedResources(spec)) {
    for (const name of ["cpu", "memory"]) {
      const request = requests[name];
      const limit = limits[name];
      if (isPositive(request) || isPositive(limit)) isAnything = true;
      if (!isPositive(limit) || (request !== undefined && compareQuantityTexts(request, limit!) !== 0))
        isGuaranteed = false;
    }
  }
  return !isAnything ? "BestEffort" : isGuaranteed ? "Guaranteed" : "Burstable";
}

/** Returns the resources that decide: those of the pod as a whole if it has some, else those of its containers. */
function countedResources({ resources, initContainers, containers }: PodSpec): readonly ResourceRequirements[] {
  const isWhole = Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0;
  if (resources !== undefined && isWhole) return [resources];
  return [...(initContainers ?? []), ...(containers ?? [])].map((container) => container.resources);
}

function isPositive(quantity: string | undefined): boolean {
  return quantity !== undefined && (parseQuantity(quantity)?.unscaled ?? 0n) > 0n;
}
