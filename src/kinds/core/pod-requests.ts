/**
 * The sum of the requests of a pod's containers. Init containers run one after the other, so the largest request
 * counts; the requests of restartable ones are added.
 */
import type { PodSpec } from "#api/core/v1.ts";
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "#meta/quantity.ts";

type Sums = Map<string, Quantity>;
type Amounts = Readonly<Record<string, string>> | undefined;

/** Returns the requested quantities by resource name. */
export function containerRequests({ containers, initContainers }: PodSpec): ReadonlyMap<string, Quantity> {
  const sums: Sums = new Map();
  const lasting: Sums = new Map();
  const peak: Sums = new Map();
  for (const { resources } of containers ?? []) add(sums, resources.requests);
  for (const { resources, restartPolicy } of initContainers ?? []) {
    if (restartPolicy === "Always") {
      add(sums, resources.requests);
      add(lasting, resources.requests);
    } else {
      // Other resources need no comparison: the pod needs as much of them at the end, when all restartable containers
      // run.
      raise(peak, addedTo(lasting, resources.requests));
    }
  }
  raise(sums, peak);
  return sums;
}

function add(sums: Sums, amounts: Amounts): void {
  for (const [name, quantity] of addedTo(sums, amounts)) sums.set(name, quantity);
}

/** Returns the amounts, each added to the present amount of the same resource. */
function addedTo(present: Sums, amounts: Amounts): Sums {
  const sums: Sums = new Map();
  for (const [name, text] of Object.entries(amounts ?? {})) {
    const quantity = parseQuantity(text);
    const before = present.get(name);
    if (quantity !== undefined) sums.set(name, before === undefined ? quantity : addQuantities(before, quantity));
  }
  return sums;
}

function raise(sums: Sums, least: Sums): void {
  for (const [name, quantity] of least) {
    const before = sums.get(name);
    if (before === undefined || compareQuantities(quantity, before) > 0) sums.set(name, quantity);
  }
}
