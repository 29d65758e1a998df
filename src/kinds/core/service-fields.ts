/**
 * Fields of a service that depend on each other: the fields that a type needs, the fields that an update may omit, and
 * the fields that a change of the type removes. Source: the strategy and storage of services in upstream's
 * `pkg/registry/core/service`.
 */
import type { Service, ServiceSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { editField, editItems, withField } from "../edit.ts";

/** The cluster address of a service without one. */
export const headless = "None";
export const singleStack = "SingleStack";
export const preferDualStack = "PreferDualStack";
export const requireDualStack = "RequireDualStack";

export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs[0] === headless;

/** Returns the IP family policy; a service without a policy has one family. An empty policy is one that there is not. */
export const policyOf = ({ ipFamilyPolicy = singleStack }: ServiceSpec): string => ipFamilyPolicy;

export const needsClusterIp = ({ type }: ServiceSpec): boolean =>
  type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer";

/**
 * Whether a service may have a cluster address. A service of an unknown type may, so that it is refused with its
 * present fields.
 */
export const mayHaveClusterIp = ({ type }: ServiceSpec): boolean => type !== "ExternalName";

export const needsNodePorts = ({ type, allocateLoadBalancerNodePorts = true }: ServiceSpec): boolean =>
  type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts);

export const mayHaveNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";

export const needsHealthCheckPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";

/** Whether a service can be reached from outside the cluster. */
export const isExternal = (spec: ServiceSpec): boolean =>
  mayHaveNodePorts(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);

const isBalancer = ({ type }: ServiceSpec): boolean => type === "LoadBalancer";

/**
 * Returns the spec with the allocated values that an update omits, and with equal addresses in `clusterIP` and
 * `clusterIPs`.
 */
export function keepAllocated(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  if (old === undefined) return withFirstAddress(spec);
  let next = spec;
  if (mayHaveClusterIp(old) && mayHaveClusterIp(spec)) next = keepAddresses(next, old);
  if (needsNodePorts(old) && needsNodePorts(spec)) next = keepNodePorts(next, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && !spec.healthCheckNodePort) {
    next = withField(next, "healthCheckNodePort", old.healthCheckNodePort);
  }
  return withAgreeingAddresses(next, old);
}

export function withFirstAddress(spec: ServiceSpec): ServiceSpec {
  const { clusterIP, clusterIPs = [] } = spec;
  return clusterIP && clusterIPs.length === 0 ? withField(spec, "clusterIPs", [clusterIP]) : spec;
}

function keepAddresses(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let next = spec;
  if (!next.clusterIP) next = withField(next, "clusterIP", old.clusterIP);
  if ((next.clusterIPs ?? []).length === 0 && next.clusterIP === old.clusterIP) {
    next = withField(next, "clusterIPs", old.clusterIPs);
  }
  return next.ipFamilyPolicy === undefined ? withField(next, "ipFamilyPolicy", old.ipFamilyPolicy) : next;
}

/**
 * Returns the spec with the old node ports. Ports are matched by name only. An old node port that the new spec names
 * belongs to the port that names it.
 */
function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const named = new Set(nodePortsOf(spec));
  const free = new Map(
    (old.ports ?? []).map(({ name = "", nodePort = 0 }) => [name, named.has(nodePort) ? 0 : nodePort]),
  );
  return editItems(spec, "ports", (port) =>
    port.nodePort ? port : withField(port, "nodePort", free.get(port.name ?? "") || undefined),
  );
}

function withAgreeingAddresses(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const { clusterIP = "", clusterIPs = [] } = spec;
  const { clusterIP: oldIp = "", clusterIPs: oldIps = [] } = old;
  // Upstream: a service that becomes an external name may ask for another address, which it keeps without a use. Reads
  // show it in both fields, of which one is stored.
  const hasOne = clusterIPs.length === 0 || (!mayHaveClusterIp(old) && jsonEquals(clusterIPs, oldIps));
  if (clusterIP !== "" && hasOne) {
    const isReplaced = oldIp !== "" && clusterIP !== oldIp && !(mayHaveClusterIp(old) && mayHaveClusterIp(spec));
    const alone = withField(spec, "clusterIPs", undefined);
    return isReplaced ? alone : withFirstAddress(alone);
  }
  const changedAlone = clusterIP !== oldIp && jsonEquals(clusterIPs, oldIps);
  return changedAlone ? withField(spec, "clusterIPs", clusterIP === "" ? undefined : [clusterIP]) : spec;
}

export const trafficPolicies = ["Cluster", "Local"];

/**
 * Returns the service without the internal traffic policy if its type has no use for one. Upstream: all types once had
 * it by default, and clients that read it then still send it. A policy that does not exist stays, so that it is refused.
 */
export const withoutUnused = (object: Service): Service =>
  object.spec.type === "ExternalName" && trafficPolicies.includes(object.spec.internalTrafficPolicy ?? "")
    ? editField(object, "spec", (spec) => withField(spec, "internalTrafficPolicy", undefined))
    : object;

/** Returns the service without unchanged fields that only its old type needs. */
export function withoutOldType(object: Service, old: Service): Service {
  const next = editField(object, "spec", (spec) => withoutOldFields(spec, old.spec));
  if (!isBalancer(old.spec) || isBalancer(object.spec)) return next;
  return editField(next, "status", (status) => withField(status, "loadBalancer", {}));
}

function withoutOldFields(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let next = spec;
  const drop = (needs: (spec: ServiceSpec) => boolean, ...names: readonly (keyof ServiceSpec)[]): void => {
    if (!needs(old) || needs(spec)) return;
    for (const name of names) if (jsonEquals(spec[name], old[name])) next = withField(next, name, undefined);
  };
  const hasSameAddresses = jsonEquals(spec.clusterIPs ?? [], old.clusterIPs ?? []);
  if (hasSameAddresses) drop(mayHaveClusterIp, "clusterIP", "clusterIPs");
  drop(mayHaveClusterIp, "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy");
  if (mayHaveNodePorts(old) && !mayHaveNodePorts(spec) && hasNoNewNodePort(spec, old)) {
    next = editItems(next, "ports", (port) => withField(port, "nodePort", undefined));
  }
  drop(needsHealthCheckPort, "healthCheckNodePort");
  drop(isBalancer, "allocateLoadBalancerNodePorts", "loadBalancerClass");
  drop(isExternal, "externalTrafficPolicy");
  return next;
}

/**
 * Whether every node port was there before. Ports may be added, removed and changed in the same update; an old node
 * port is not a request.
 */
function hasNoNewNodePort(spec: ServiceSpec, old: ServiceSpec): boolean {
  const knownPorts = new Set([0, ...nodePortsOf(old)]);
  return nodePortsOf(spec).every((nodePort) => knownPorts.has(nodePort));
}

/** Returns the node ports of a service; 0 for ports that have none. */
export const nodePortsOf = ({ ports = [] }: ServiceSpec): readonly number[] =>
  ports.map(({ nodePort = 0 }) => nodePort);
