/** A pod as an endpoint: whether it is one, its addresses, host name and ports. */
import { isIPv6 } from "node:net";
import type { ObjectReference, Pod, Service, ServicePort } from "#api/core/v1.ts";
import type { IpFamily } from "#meta/ip-range.ts";
import { isReady, isTerminal } from "../pods.ts";

export const familyOf = (ip: string): IpFamily => (isIPv6(ip) ? "IPv6" : "IPv4");

/** Whether a pod has an address and has not ended. Pods that are being deleted count only if they are published. */
export function isEndpoint(pod: Pod, withTerminating: boolean): boolean {
  if (isTerminal(pod) || addresses(pod).length === 0) return false;
  return withTerminating || pod.metadata.deletionTimestamp === undefined;
}

function addresses({ status: { podIP, podIPs } }: Pod): readonly string[] {
  const all = (podIPs ?? []).flatMap(({ ip }) => ((ip ?? "") === "" ? [] : [ip!])); // not empty, as was seen
  return all.length > 0 || (podIP ?? "") === "" ? all : [podIP!]; // not empty, as was seen
}

export const addressesOf = (pod: Pod, family: IpFamily): readonly string[] =>
  addresses(pod).filter((ip) => familyOf(ip) === family);

/** Returns the name of the pod below that of a service, if it has one. */
export const hostnameOf = ({ spec }: Pod, service: Service): string | undefined =>
  (spec.hostname ?? "") !== "" && spec.subdomain === service.metadata.name ? spec.hostname : undefined;

export const targetOf = ({ metadata: { namespace = "", name = "", uid = "" } }: Pod): ObjectReference => ({
  kind: "Pod",
  namespace,
  name,
  uid,
});

interface Conditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

export function conditionsOf(pod: Pod, { spec }: Service): Conditions {
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  return { ready: spec.publishNotReadyAddresses === true || (serving && !terminating), serving, terminating };
}

/**
 * Returns the number of the pod's port that a port of a service refers to; `undefined` when the pod has no port of that
 * name. `sidecars`: whether init containers that are restarted count. Upstream: they do for Endpoints, and do not for
 * slices.
 */
export function portOf(
  { spec }: Pod,
  { targetPort, protocol = "TCP" }: ServicePort,
  sidecars: boolean,
): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const restarted = sidecars ? (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always") : [];
  for (const { ports = [] } of [...(spec.containers ?? []), ...restarted]) {
    for (const port of ports) {
      if (port.name === targetPort && (port.protocol ?? "TCP") === protocol) return port.containerPort;
    }
  }
  return undefined;
}

/** Whether a service has no cluster address. */
export const hasNoClusterIp = ({ spec: { clusterIP = "" } }: Service): boolean =>
  clusterIP === "" || clusterIP === "None";
