/** The class of service of a pod, by what its containers ask for. */
import { parseQuantity } from "#meta/quantity.ts";
import { type Json, listField, noFields, objectField, textsField } from "../json-edit.ts";
import { compareTexts } from "./claim-spec.ts";

/** Source: upstream's `ComputePodQOS`. */
export function qosClass(spec: Json): "BestEffort" | "Burstable" | "Guaranteed" {
  let isAnything = false;
  let isGuaranteed = true;
  for (const container of [...listField(spec, "initContainers"), ...listField(spec, "containers")]) {
    const resources = objectField(container, "resources") ?? noFields;
    const requests = textsField(resources, "requests") ?? {};
    const limits = textsField(resources, "limits") ?? {};
    for (const name of ["cpu", "memory"]) {
      const request = requests[name];
      const limit = limits[name];
      if (isPositive(request) || isPositive(limit)) isAnything = true;
      if (!isPositive(limit) || (request !== undefined && compareTexts(request, limit!) !== 0)) isGuaranteed = false;
    }
  }
  return !isAnything ? "BestEffort" : isGuaranteed ? "Guaranteed" : "Burstable";
}

function isPositive(quantity: string | undefined): boolean {
  return quantity !== undefined && (parseQuantity(quantity)?.unscaled ?? 0n) > 0n;
}
