/** Quota usage of services, persistent volume claims and resource claims. */
import type { PersistentVolumeClaim, Service } from "#api/core/v1.ts";
import type { ResourceClaim } from "#api/resource/v1beta1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "#meta/quantity.ts";
import { nearestNumber } from "#std/int64.ts";
import type { Operation } from "../plugin.ts";
import { count, one, zero } from "../quantities.ts";
import type { Evaluator } from "./evaluator.ts";

const byWrites = (operation: Operation, subresource: string): boolean =>
  subresource === "" && (operation === "CREATE" || operation === "UPDATE");

/** Counts services, their node ports and load balancers. */
export function serviceEvaluator(): Evaluator {
  const names: ReadonlySet<string> = new Set([
    "count/services",
    "services",
    "services.nodeports",
    "services.loadbalancers",
  ]);
  return {
    group: "",
    resource: "services",
    handles: byWrites,
    counts: (name) => names.has(name),
    usage(read) {
      const { spec } = read() as Service; // evaluators are asked about objects of their resource
      const ports = spec.ports ?? [];
      const isBalanced = spec.type === "LoadBalancer";
      let nodePorts = 0;
      if (spec.type === "NodePort" || isBalanced) nodePorts = ports.length;
      if (isBalanced && spec.allocateLoadBalancerNodePorts === false) {
        nodePorts = ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
      }
      return new Map([
        ["count/services", one],
        ["services", one],
        ["services.nodeports", count(nodePorts)],
        ["services.loadbalancers", isBalanced ? one : zero],
      ]);
    },
  };
}

/** Counts claims and the storage they ask for, in all and of each class. */
export function claimEvaluator({ rename }: ApiDomain): Evaluator {
  const classAnnotation = rename("volume.beta.kubernetes.io/storage-class");
  const ofClass = rename(".storageclass.storage.k8s.io/");
  const parts = ["persistentvolumeclaims", "requests.storage"];
  const isAboutClaims = (name: string): boolean => parts.includes(name);
  return {
    group: "",
    resource: "persistentvolumeclaims",
    handles: byWrites,
    counts: (name) =>
      name === "count/persistentvolumeclaims" ||
      isAboutClaims(name) ||
      parts.some((part) => name.endsWith(`${ofClass}${part}`)),
    usage(read) {
      const claim = read() as PersistentVolumeClaim; // evaluators are asked about objects of their resource
      const used = new Map([["count/persistentvolumeclaims", one]]);
      const name = claim.metadata.annotations?.[classAnnotation] ?? claim.spec.storageClassName ?? "";
      const use = (part: string, quantity: Quantity): void => {
        used.set(part, quantity);
        if (name !== "") used.set(`${name}${ofClass}${part}`, quantity);
      };
      use("persistentvolumeclaims", one);
      const storage = storageOf(claim);
      if (storage !== undefined) use("requests.storage", storage);
      return used;
    },
  };
}

/** The larger of the requested and the allocated amount. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const requested = parseQuantity(spec.resources.requests?.["storage"] ?? "");
  const allocated = parseQuantity(status?.allocatedResources?.["storage"] ?? "");
  if (requested === undefined || allocated === undefined) return requested;
  return compareQuantities(allocated, requested) > 0 ? allocated : requested;
}

/** The amount of a request for all devices: the maximum number of devices of a request. */
const allDevices = 32;

/** Counts claims for devices, and the devices of each class they ask for. */
export function deviceClaimEvaluator({ rename }: ApiDomain): Evaluator {
  const group = rename("resource.k8s.io");
  const counted = `count/resourceclaims.${group}`;
  const ofClass = rename(".deviceclass.resource.k8s.io/devices");
  return {
    group,
    resource: "resourceclaims",
    handles: byWrites,
    counts: (name) => name === counted || name.endsWith(ofClass),
    usage(read) {
      const { spec } = read() as ResourceClaim; // every served version has these fields
      const used = new Map([[counted, one]]);
      for (const { deviceClassName, allocationMode, count: wanted = 0 } of spec.devices.requests ?? []) {
        const devices =
          allocationMode === "All" ? allDevices : allocationMode === "ExactCount" ? nearestNumber(wanted) : 0;
        const name = `${deviceClassName}${ofClass}`;
        used.set(name, addQuantities(used.get(name) ?? zero, count(devices)));
      }
      return used;
    },
  };
}
