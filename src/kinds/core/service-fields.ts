/**
 * What the fields of a service mean together: which of them its type needs, what an update may leave out, and what goes
 * with a change of the type. Source: the strategy and storage of services in upstream's `pkg/registry/core/service`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import {
  editField,
  editItems,
  isZero,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";

/** The address of a service that has none. */
export const headless = "None";
export const singleStack = "SingleStack";
export const preferDualStack = "PreferDualStack";
export const requireDualStack = "RequireDualStack";

export const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

export const typeOf = (spec: Json): string => textField(spec, "type");

/** A field that holds a list of texts; empty when it is absent or null. */
export function textsOf(spec: Json, name: string): readonly string[] {
  return (spec[name] ?? []) as readonly string[]; // the schema says so
}

export const isHeadless = (spec: Json): boolean => textsOf(spec, "clusterIPs")[0] === headless;

/** The policy; a service without one has one family. */
export const policyOf = (spec: Json): string => textField(spec, "ipFamilyPolicy") || singleStack;

export const needsClusterIp = (spec: Json): boolean => ["ClusterIP", "NodePort", "LoadBalancer"].includes(typeOf(spec));

export const needsNodePorts = (spec: Json): boolean =>
  typeOf(spec) === "NodePort" ||
  (typeOf(spec) === "LoadBalancer" && (spec["allocateLoadBalancerNodePorts"] ?? true) === true);

export const mayHaveNodePorts = (spec: Json): boolean => ["NodePort", "LoadBalancer"].includes(typeOf(spec));

export const needsHealthCheckPort = (spec: Json): boolean =>
  typeOf(spec) === "LoadBalancer" && textField(spec, "externalTrafficPolicy") === "Local";

/** Whether it is reached from outside the cluster. */
export const isExternal = (spec: Json): boolean =>
  mayHaveNodePorts(spec) || (typeOf(spec) === "ClusterIP" && textsOf(spec, "externalIPs").length > 0);

const isBalancer = (spec: Json): boolean => typeOf(spec) === "LoadBalancer";

/** What an update leaves out of what was given out stays, and `clusterIP` and `clusterIPs` agree. */
export function keepAllocated(spec: Json, old: Json | undefined): Json {
  if (old === undefined) {
    const ip = textField(spec, "clusterIP");
    return ip !== "" && textsOf(spec, "clusterIPs").length === 0 ? withField(spec, "clusterIPs", [ip]) : spec;
  }
  let next = spec;
  if (needsClusterIp(old) && needsClusterIp(spec)) next = keepAddresses(next, old);
  if (needsNodePorts(old) && needsNodePorts(spec)) next = keepNodePorts(next, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && numberField(spec, "healthCheckNodePort") === 0) {
    next = withField(next, "healthCheckNodePort", old["healthCheckNodePort"]);
  }
  return withAgreeingAddresses(next, old);
}

function keepAddresses(spec: Json, old: Json): Json {
  let next = spec;
  if (textField(next, "clusterIP") === "") next = withField(next, "clusterIP", old["clusterIP"]);
  if (textsOf(next, "clusterIPs").length === 0 && next["clusterIP"] === old["clusterIP"]) {
    next = withField(next, "clusterIPs", old["clusterIPs"]);
  }
  if (textsOf(next, "ipFamilies").length === 0) next = withField(next, "ipFamilies", old["ipFamilies"]);
  return isZero(next["ipFamilyPolicy"]) ? withField(next, "ipFamilyPolicy", old["ipFamilyPolicy"]) : next;
}

/** By the names of ports, whatever else was changed of them. */
function keepNodePorts(spec: Json, old: Json): Json {
  const byName = new Map(listField(old, "ports").map((port) => [textField(port, "name"), port["nodePort"]]));
  return editItems(spec, "ports", (port) =>
    numberField(port, "nodePort") === 0 ? withField(port, "nodePort", byName.get(textField(port, "name"))) : port,
  );
}

function withAgreeingAddresses(spec: Json, old: Json): Json {
  const ip = textField(spec, "clusterIP");
  const given = textsOf(spec, "clusterIPs");
  if (ip !== "" && given.length === 0) return withField(spec, "clusterIPs", [ip]);
  const changedAlone = ip !== textField(old, "clusterIP") && jsonEquals(given, textsOf(old, "clusterIPs"));
  return changedAlone ? withField(spec, "clusterIPs", ip === "" ? undefined : [ip]) : spec;
}

/** The service without what only its old type had a use for, as far as the update did not change it. */
export function withoutOldType(object: Unstructured, oldObject: Unstructured): Unstructured {
  const old = specOf(oldObject);
  const next = editField(object, "spec", (spec) => withoutOldFields(spec, old));
  if (!isBalancer(old) || isBalancer(specOf(object))) return next;
  return editField(next, "status", (status) => withField(status, "loadBalancer", noFields));
}

function withoutOldFields(spec: Json, old: Json): Json {
  let next = spec;
  const drop = (needs: (spec: Json) => boolean, ...names: readonly string[]): void => {
    if (!needs(old) || needs(spec)) return;
    for (const name of names) if (jsonEquals(spec[name], old[name])) next = withField(next, name, undefined);
  };
  const hasSameAddresses = jsonEquals(textsOf(spec, "clusterIPs"), textsOf(old, "clusterIPs"));
  if (hasSameAddresses) drop(needsClusterIp, "clusterIP", "clusterIPs");
  drop(needsClusterIp, "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy");
  if (mayHaveNodePorts(old) && !mayHaveNodePorts(spec) && jsonEquals(nodePortsOf(spec), nodePortsOf(old))) {
    next = editItems(next, "ports", (port) => withField(port, "nodePort", undefined));
  }
  drop(needsHealthCheckPort, "healthCheckNodePort");
  drop(isBalancer, "allocateLoadBalancerNodePorts", "loadBalancerClass");
  drop(isExternal, "externalTrafficPolicy");
  return next;
}

const nodePortsOf = (spec: Json): readonly number[] =>
  listField(spec, "ports").map((port) => numberField(port, "nodePort"));
