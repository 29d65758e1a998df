/**
 * The requests and limits of a pod as schedulers count them. Init containers run one after the other, so the largest
 * counts; restartable ones are added. Source: the documented rules for sidecars.
 */
import type { PodSpec } from "#api/core/v1.ts";
import { compareQuantities, type Quantity } from "#meta/quantity.ts";
import { addTo, type Quantities, quantitiesOf } from "./quantities.ts";

/** Returns the requests or limits of the whole pod, by resource name. */
export function podResources(spec: PodSpec, part: "requests" | "limits"): Map<string, Quantity> {
  const sums = new Map<string, Quantity>();
  for (const { resources } of spec.containers ?? []) addTo(sums, quantitiesOf(resources[part]));
  /** Init containers that keep running, as far as they have been started. */
  const lasting = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    const own = quantitiesOf(resources[part]);
    if (restartPolicy === "Always") {
      addTo(sums, own);
      addTo(lasting, own);
      raise(peak, lasting);
      continue;
    }
    addTo(own, lasting);
    raise(peak, own);
  }
  raise(sums, peak);
  return sums;
}

/** Returns the same with the overhead of the pod, which is added to all requests and to existing limits. */
export function podResourcesWithOverhead(spec: PodSpec, part: "requests" | "limits"): Map<string, Quantity> {
  const sums = podResources(spec, part);
  const overhead = quantitiesOf(spec.overhead);
  if (part === "limits") for (const name of overhead.keys()) if (!sums.has(name)) overhead.delete(name);
  addTo(sums, overhead);
  return sums;
}

function raise(sums: Map<string, Quantity>, least: Quantities): void {
  for (const [name, quantity] of least) {
    const before = sums.get(name);
    if (before === undefined || compareQuantities(quantity, before) > 0) sums.set(name, quantity);
  }
}
