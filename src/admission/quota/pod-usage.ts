/** Quota usage of pods: CPU, memory and other resources until they have ended, and their number. */
import { initialContainers } from "#api/core/containers.ts";
import type { Container, Pod, PodAffinityTerm, ScopedResourceSelectorRequirement } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Quantity } from "#meta/quantity.ts";
import type { Clock } from "#std/clock.ts";
import { nearestNumber } from "#std/int64.ts";
import { resourceNames } from "../extended-resources.ts";
import { podResourcesWithOverhead } from "../pod-resources.ts";
import { one, type Quantities, quantitiesOf } from "../quantities.ts";
import type { Evaluator } from "./evaluator.ts";

/** Resources of machines. In quotas, the bare names mean their requests. */
const machineResources = ["cpu", "memory", "ephemeral-storage"];

const names: ReadonlySet<string> = new Set([
  "pods",
  "count/pods",
  ...machineResources.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);

/** Names in quotas for which containers must state a request or a limit. */
const mustBeSaid: ReadonlySet<string> = new Set(
  ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);

export function podEvaluator({ domain, clock }: { readonly domain: ApiDomain; readonly clock: Clock }): Evaluator {
  const { isNative, isExtended } = resourceNames(domain);
  return {
    group: "",
    resource: "pods",
    handles: (operation, subresource) =>
      subresource === "" ? operation === "CREATE" : subresource === "resize" && operation === "UPDATE",
    counts: (name) =>
      names.has(name) ||
      name.startsWith("hugepages-") ||
      name.startsWith("requests.hugepages-") ||
      (name.startsWith("requests.") && !isNative(name)),
    usage(read) {
      const pod = podOf(read());
      const used = new Map([["count/pods", one]]);
      if (hasEnded(pod, clock)) return used;
      addUse(
        used,
        podResourcesWithOverhead(pod.spec, "requests"),
        podResourcesWithOverhead(pod.spec, "limits"),
        isExtended,
      );
      return used;
    },
    isInScope: (object, scope) => isInScope(podOf(object), scope),
    missing: (object, wanted) => missingRequirements(podOf(object), wanted),
  };
}

const podOf = (object: ApiObject): Pod => object as Pod; // evaluators are asked about objects of their resource

/** Whether a pod uses no resources of a machine any more: it has ended, or its time to end is over. */
function hasEnded({ metadata, status }: Pod, clock: Clock): boolean {
  const { phase } = status ?? {};
  if (phase === "Failed" || phase === "Succeeded") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return clock.now() > Date.parse(deletionTimestamp) + nearestNumber(deletionGracePeriodSeconds) * 1000;
}

function addUse(
  used: Map<string, Quantity>,
  requests: Quantities,
  limits: Quantities,
  isExtended: (name: string) => boolean,
): void {
  used.set("pods", one);
  for (const [name, quantity] of requests) {
    if (machineResources.includes(name) || name.startsWith("hugepages-")) {
      used.set(name, quantity);
      used.set(`requests.${name}`, quantity);
    } else if (isExtended(name)) used.set(`requests.${name}`, quantity);
  }
  for (const name of machineResources) {
    const limit = limits.get(name);
    if (limit !== undefined) used.set(`limits.${name}`, limit);
  }
}

function isInScope(pod: Pod, { scopeName, operator, values }: ScopedResourceSelectorRequirement): boolean {
  const { activeDeadlineSeconds, priorityClassName = "" } = pod.spec;
  const terminates = activeDeadlineSeconds !== undefined && nearestNumber(activeDeadlineSeconds) >= 0;
  switch (scopeName) {
    case "Terminating":
      return terminates;
    case "NotTerminating":
      return !terminates;
    case "BestEffort":
      return isBestEffort(pod);
    case "NotBestEffort":
      return !isBestEffort(pod);
    case "CrossNamespacePodAffinity":
      return hasCrossNamespaceAffinity(pod);
    case "PriorityClass":
      return selects(priorityClassName, operator, values ?? []);
    default:
      return false;
  }
}

function selects(name: string, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case "In":
      return values.includes(name);
    case "NotIn":
      return !values.includes(name);
    case "Exists":
      return name !== "";
    case "DoesNotExist":
      return name === "";
    default:
      return false;
  }
}

function isBestEffort({ spec, status }: Pod): boolean {
  const { qosClass = "" } = status ?? {};
  if (qosClass !== "") return qosClass === "BestEffort";
  return initialContainers(spec).every(({ resources }) =>
    [resources.requests, resources.limits].every((list) => {
      const amounts = quantitiesOf(list);
      return ["cpu", "memory"].every((name) => (amounts.get(name)?.unscaled ?? 0n) <= 0n);
    }),
  );
}

function hasCrossNamespaceAffinity({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return [podAffinity, podAntiAffinity].some((affinity) => {
    const wanted = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const terms: readonly PodAffinityTerm[] = [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...wanted.map(({ podAffinityTerm }) => podAffinityTerm),
    ];
    return terms.some(
      ({ namespaces, namespaceSelector }) => (namespaces ?? []).length > 0 || namespaceSelector !== undefined,
    );
  });
}

/** Names the containers without a required request or limit, by resource; empty when there are none. */
function missingRequirements({ spec }: Pod, wanted: readonly string[]): string {
  const required = wanted.filter((name) => mustBeSaid.has(name)).sort();
  const containers = initialContainers(spec);
  const parts = required.flatMap((name) => {
    const silent = new Set(containers.filter((container) => !says(container, name)).map((container) => container.name));
    return silent.size === 0 ? [] : [`${name} for: ${[...silent].sort().join(",")}`];
  });
  return parts.length === 0 ? "" : `must specify ${parts.join("; ")}`;
}

function says({ resources }: Container, name: string): boolean {
  const [part, resource] = name.includes(".") ? name.split(".") : ["requests", name];
  return Object.hasOwn(resources[part as "requests" | "limits"] ?? {}, resource!); // the names of `mustBeSaid`
}
