/**
 * Fields of a service that depend on each other: which ones its type needs, which ones an update may omit, and which
 * ones a change of type removes. Source: the strategy and storage of services in upstream's
 * `pkg/registry/core/service`.
 */
import type { Service, ServiceSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { editField, editItems, withField } from "../edit.ts";

/** The address of a service that has none. */
export const headless = "None";
export const singleStack = "SingleStack";
export const preferDualStack = "PreferDualStack";
export const requireDualStack = "RequireDualStack";

export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs[0] === headless;

/** The policy; a service without one has one family. */
export const policyOf = ({ ipFamilyPolicy }: ServiceSpec): string => ipFamilyPolicy || singleStack;

export const needsClusterIp = ({ type }: ServiceSpec): boolean =>
  type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer";

/** A type that is unknown is refused with what the service had. */
const mayHaveClusterIp = ({ type }: ServiceSpec): boolean => type !== "ExternalName";

export const needsNodePorts = ({ type, allocateLoadBalancerNodePorts = true }: ServiceSpec): boolean =>
  type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts);

export const mayHaveNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";

export const needsHealthCheckPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";

/** Whether it is reached from outside the cluster. */
export const isExternal = (spec: ServiceSpec): boolean =>
  mayHaveNodePorts(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);

const isBalancer = ({ type }: ServiceSpec): boolean => type === "LoadBalancer";

/** Keeps allocated values that an update omits, and makes `clusterIP` and `clusterIPs` agree. */
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

function withFirstAddress(spec: ServiceSpec): ServiceSpec {
  const { clusterIP, clusterIPs = [] } = spec;
  return clusterIP && clusterIPs.length === 0 ? withField(spec, "clusterIPs", [clusterIP]) : spec;
}

function keepAddresses(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let next = spec;
  if (!next.clusterIP) next = withField(next, "clusterIP", old.clusterIP);
  if ((next.clusterIPs ?? []).length === 0 && next.clusterIP === old.clusterIP) {
    next = withField(next, "clusterIPs", old.clusterIPs);
  }
  return next.ipFamilyPolicy ? next : withField(next, "ipFamilyPolicy", old.ipFamilyPolicy);
}

/** Matches ports by name, whatever else was changed. A node port that the service still names is that of another port. */
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
  if (clusterIP !== "" && clusterIPs.length === 0) return withFirstAddress(spec);
  const changedAlone = clusterIP !== (old.clusterIP ?? "") && jsonEquals(clusterIPs, old.clusterIPs ?? []);
  return changedAlone ? withField(spec, "clusterIPs", clusterIP === "" ? undefined : [clusterIP]) : spec;
}

/**
 * The service without a policy that its type has no use for. Upstream: all types once had it by default, and clients that
 * read it then still send it.
 */
export const withoutUnused = (object: Service): Service =>
  object.spec.type === "ExternalName"
    ? editField(object, "spec", (spec) => withField(spec, "internalTrafficPolicy", undefined))
    : object;

/** The service without what only its old type had a use for, as far as the update did not change it. */
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

/** Ports may come, go and change meanwhile: a node port that was there before was not asked for. */
function hasNoNewNodePort(spec: ServiceSpec, old: ServiceSpec): boolean {
  const knownPorts = new Set([0, ...nodePortsOf(old)]);
  return nodePortsOf(spec).every((nodePort) => knownPorts.has(nodePort));
}

/** 0 for ports without one. */
export const nodePortsOf = ({ ports = [] }: ServiceSpec): readonly number[] =>
  ports.map(({ nodePort = 0 }) => nodePort);
