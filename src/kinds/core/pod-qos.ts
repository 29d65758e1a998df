/** The quality-of-service class of a pod, from the requests and limits of its containers. */
import type { PodSpec } from "#api/core/v1.ts";
import { parseQuantity } from "#meta/quantity.ts";
import { compareQuantityTexts } from "./claim-spec.ts";

/** Source: upstream's `ComputePodQOS`. */
export function qosClass({ containers, initContainers }: PodSpec): "BestEffort" | "Burstable" | "Guaranteed" {
  let isAnything = false;
  let isGuaranteed = true;
  for (const { resources } of [...(initContainers ?? []), ...(containers ?? [])]) {
    const { requests = {}, limits = {} } = resources;
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

function isPositive(quantity: string | undefined): boolean {
  return quantity !== undefined && (parseQuantity(quantity)?.unscaled ?? 0n) > 0n;
}
