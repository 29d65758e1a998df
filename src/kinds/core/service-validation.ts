/**
 * Validates services and their status, and warns of unusual settings. Source: `ValidateService` and the functions that
 * it calls in upstream's `pkg/apis/core/validation`.
 */
import type { Service, ServiceSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type ApiDomain, perDomain } from "#meta/api-domain.ts";
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { cidr } from "#meta/ip-range.ts";
import { dns1123Label, dns1123Subdomain, ipAddress, portName, portNumber, qualifiedName } from "#meta/names.ts";
import { validateLabels } from "#meta/validate-object-meta.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkRange, checkRequiredOneOf, checkUnique } from "../checks.ts";
import { aboutIp, aboutRange, validateBalancerHost, validateReachable } from "./address-checks.ts";
import { validateAddresses, validateAddressesUpdate } from "./service-addresses.ts";
import { isExternal, isHeadless, needsClusterIp, needsHealthCheckPort, trafficPolicies } from "./service-fields.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const protocols = ["SCTP", "TCP", "UDP"];
const affinities = ["ClientIP", "None"];
const kubeletPort = 10250;
const stickySecondsMax = 86400;
const onlyBalancers = "may only be used when `type` is 'LoadBalancer'";

const specPath = FieldPath.of("spec");
const portsPath = specPath.child("ports");
const affinityPath = specPath.child("sessionAffinityConfig");
const secondsPath = affinityPath.child("clientIP", "timeoutSeconds");
const classPath = specPath.child("loadBalancerClass");
const externalIpsPath = specPath.child("externalIPs");
const ingressPath = FieldPath.of("status", "loadBalancer", "ingress");

export function validateService(object: Service, domain: ApiDomain): FieldError[] {
  const { spec } = object;
  const ofType: FieldError[] = [];
  checkRequiredOneOf(spec.type, types, specPath.child("type"), ofType);
  return [
    ...validateByType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, specPath.child("selector")),
    ...validateAffinity(spec),
    ...validateAddresses(spec),
    ...(spec.externalIPs ?? []).flatMap((ip, i) => validateExternalIp(ip, externalIpsPath.index(i))),
    ...ofType,
    ...validateNodePorts(spec),
    ...validateSourceRanges(object, domain),
    ...validateBalancer(spec),
    ...validateTraffic(spec),
  ];
}

export function validateServiceUpdate(object: Service, oldObject: Service, domain: ApiDomain): FieldError[] {
  const { spec } = object;
  const old = oldObject.spec;
  const areBalancers = spec.type === "LoadBalancer" && old.type === "LoadBalancer";
  const haveHealthChecks = needsHealthCheckPort(spec) && needsHealthCheckPort(old);
  return [
    ...validateAddressesUpdate(spec, old),
    ...(areBalancers && spec.loadBalancerClass !== old.loadBalancerClass
      ? [invalid(classPath, spec.loadBalancerClass, "may not change once set")]
      : []),
    ...(haveHealthChecks && (spec.healthCheckNodePort ?? 0) !== (old.healthCheckNodePort ?? 0)
      ? [forbidden(specPath.child("healthCheckNodePort"), "field is immutable")]
      : []),
    ...validateService(object, domain),
  ];
}

function validateByType(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { type, ports = [] } = spec;
  if (ports.length === 0 && !isHeadless(spec) && type !== "ExternalName") errors.push(required(portsPath));
  if (type === "LoadBalancer") {
    for (const [i, { port }] of ports.entries()) {
      if (port !== kubeletPort) continue;
      const text = `may not expose port ${kubeletPort} externally since it is used by kubelet`;
      errors.push(invalid(portsPath.index(i), kubeletPort, text));
    }
  }
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec)) {
    errors.push(
      invalid(specPath.child("clusterIPs").index(0), "None", `may not be set to 'None' for ${type} services`),
    );
  }
  if (type === "ExternalName") addAll(errors, validateExternalName(spec));
  return errors;
}

function validateExternalName(spec: ServiceSpec): FieldError[] {
  const unset: (keyof ServiceSpec)[] = [];
  if ((spec.clusterIPs ?? []).length > 0) unset.push("clusterIPs");
  if ((spec.ipFamilies ?? []).length > 0) unset.push("ipFamilies");
  if (spec.ipFamilyPolicy !== undefined) unset.push("ipFamilyPolicy");
  const path = specPath.child("externalName");
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  return [
    ...unset.map((field) => forbidden(specPath.child(field), "may not be set for ExternalName services")),
    ...(name === "" ? [required(path)] : dns1123Subdomain(name).map((message) => invalid(path, name, message))),
  ];
}

function validatePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap(({ name = "", port, protocol, targetPort, appProtocol }, i) => {
    const path = portsPath.index(i);
    const errors: FieldError[] = [];
    if (name === "") {
      if (ports.length > 1) errors.push(required(path.child("name")));
    } else {
      checkName(name, dns1123Label, path.child("name"), errors);
      checkUnique(name, names, path.child("name"), errors);
    }
    checkRange(port, 1, 65535, path.child("port"), errors);
    checkRequiredOneOf(protocol, protocols, path.child("protocol"), errors);
    const messages = typeof targetPort === "string" ? portName(targetPort) : portNumber(targetPort);
    addAll(
      errors,
      messages.map((message) => invalid(path.child("targetPort"), targetPort, message)),
    );
    if (appProtocol !== undefined) checkName(appProtocol, qualifiedName, path.child("appProtocol"), errors);
    return errors;
  });
}

function validateAffinity({ sessionAffinity, sessionAffinityConfig: config }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  checkRequiredOneOf(sessionAffinity, affinities, specPath.child("sessionAffinity"), errors);
  if (sessionAffinity === "None" && config !== undefined) {
    errors.push(forbidden(affinityPath, "must not be set when session affinity is None"));
  }
  if (sessionAffinity !== "ClientIP") return errors;
  const text = "when session affinity type is ClientIP";
  if (config === undefined) return [...errors, required(affinityPath, text)];
  if (config.clientIP === undefined) return [...errors, required(affinityPath.child("clientIP"), text)];
  const { timeoutSeconds } = config.clientIP;
  if (timeoutSeconds === undefined) return [...errors, required(secondsPath, text)];
  if (!(timeoutSeconds > 0 && timeoutSeconds <= stickySecondsMax)) {
    const range = `must be greater than 0 and less than ${stickySecondsMax}`;
    errors.push(invalid(secondsPath, timeoutSeconds, range));
  }
  return errors;
}

function validateExternalIp(ip: string, field: FieldPath): FieldError[] {
  const messages = ipAddress(ip);
  return messages.length > 0 ? messages.map((message) => invalid(field, ip, message)) : validateReachable(ip, field);
}

function validateNodePorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const isRepeated = (): ((protocol: string | undefined, port: number) => boolean) => {
    const seen = new Set<string>();
    return (protocol = "", port) => {
      const key = `${protocol} ${port}`;
      const isKnown = seen.has(key);
      seen.add(key);
      return isKnown;
    };
  };
  const nodePorts = [...ports.entries()].filter(([, { nodePort = 0 }]) => nodePort !== 0);
  if (type === "ClusterIP") {
    const text = "may not be used when `type` is 'ClusterIP'";
    addAll(
      errors,
      nodePorts.map(([i]) => forbidden(portsPath.index(i).child("nodePort"), text)),
    );
  }
  const repeatsNodePort = isRepeated();
  for (const [i, { protocol, nodePort = 0 }] of nodePorts) {
    if (repeatsNodePort(protocol, nodePort)) errors.push(duplicate(portsPath.index(i).child("nodePort"), nodePort));
  }
  const repeatsPort = isRepeated();
  for (const [i, port] of ports.entries()) {
    if (repeatsPort(port.protocol, port.port))
      errors.push(duplicate(portsPath.index(i), { protocol: port.protocol, port: port.port }));
  }
  return errors;
}

function validateSourceRanges({ metadata, spec }: Service, domain: ApiDomain): FieldError[] {
  const isWrong = spec.type !== "LoadBalancer";
  const check = (field: FieldPath, value: string): FieldError[] =>
    cidr(value.trim()).map((message) => invalid(field, value.trim(), message));
  const { loadBalancerSourceRanges: ranges = [] } = spec;
  if (ranges.length > 0) {
    // Upstream: the path has a capital letter.
    const path = specPath.child("LoadBalancerSourceRanges");
    return [
      ...(isWrong ? [forbidden(path, onlyBalancers)] : []),
      ...ranges.flatMap((range, i) => check(path.index(i), range)),
    ];
  }
  const { sourceRanges: annotation } = serviceAnnotations(domain);
  const annotated = metadata.annotations?.[annotation];
  if (annotated === undefined) return [];
  const path = FieldPath.of("metadata", "annotations").key(annotation);
  return [
    ...(isWrong ? [forbidden(path, onlyBalancers)] : []),
    ...(annotated.trim() === "" ? [] : annotated.split(",").flatMap((range) => check(path, range))),
  ];
}

function validateBalancer(spec: ServiceSpec): FieldError[] {
  const { type, allocateLoadBalancerNodePorts } = spec;
  const errors: FieldError[] = [];
  const isBalancer = type === "LoadBalancer";
  if (!isBalancer && allocateLoadBalancerNodePorts !== undefined) {
    errors.push(forbidden(specPath.child("allocateLoadBalancerNodePorts"), onlyBalancers));
  }
  if (isBalancer && allocateLoadBalancerNodePorts === undefined) {
    errors.push(required(specPath.child("allocateLoadBalancerNodePorts")));
  }
  return [...errors, ...validateBalancerClass(spec)];
}

function validateBalancerClass({ type, loadBalancerClass: name }: ServiceSpec): FieldError[] {
  if (name === undefined) return [];
  if (type !== "LoadBalancer") return [forbidden(classPath, onlyBalancers)];
  return qualifiedName(name).map((message) => invalid(classPath, name, message));
}

function validateTraffic(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const { externalTrafficPolicy = "", healthCheckNodePort = 0, trafficDistribution } = spec;
  const policyField = specPath.child("externalTrafficPolicy");
  if (isExternal(spec)) checkRequiredOneOf(externalTrafficPolicy, trafficPolicies, policyField, errors);
  else if (externalTrafficPolicy !== "") {
    errors.push(invalid(policyField, externalTrafficPolicy, "may only be set for externally-accessible services"));
  }
  const portField = specPath.child("healthCheckNodePort");
  if (needsHealthCheckPort(spec)) {
    if (healthCheckNodePort === 0) errors.push(required(portField));
    else checkRange(healthCheckNodePort, 1, 65535, portField, errors);
  } else if (healthCheckNodePort !== 0) {
    const text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalid(portField, healthCheckNodePort, text));
  }
  const { internalTrafficPolicy: inside } = spec;
  const insideField = specPath.child("internalTrafficPolicy");
  if (inside === undefined) {
    if (needsClusterIp(spec)) errors.push(required(insideField));
  } else if (!trafficPolicies.includes(inside)) errors.push(notSupported(insideField, inside, trafficPolicies));
  if (trafficDistribution !== undefined && trafficDistribution !== "PreferClose") {
    errors.push(notSupported(specPath.child("trafficDistribution"), trafficDistribution, ["PreferClose"]));
  }
  return errors;
}

/** Returns findings about a new status; `object` has the service's own spec. */
export function validateServiceStatus(object: Service, old: Service): FieldError[] {
  const { ingress = [] } = object.status.loadBalancer;
  if (object.spec.type !== "LoadBalancer") {
    return ingress.length === 0 || jsonEquals(ingress, old.status.loadBalancer.ingress)
      ? []
      : [forbidden(ingressPath, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap(({ ip = "", ipMode, hostname = "" }, i) => {
    const path = ingressPath.index(i);
    const errors = ip === "" ? [] : ipAddress(ip).map((message) => invalid(path.child("ip"), ip, message));
    if (ip === "" && ipMode !== undefined) {
      errors.push(forbidden(path.child("ipMode"), "may not be specified when `ip` is not set"));
    } else if (ip !== "" && ipMode === undefined) {
      errors.push(required(path.child("ipMode"), "must be specified when `ip` is set"));
    } else if (ipMode !== undefined && ipMode !== "VIP" && ipMode !== "Proxy") {
      errors.push(notSupported(path.child("ipMode"), ipMode, ["Proxy", "VIP"]));
    }
    if (hostname !== "") addAll(errors, validateBalancerHost(hostname, path.child("hostname")));
    return errors;
  });
}

const serviceAnnotations = perDomain(({ rename }) => ({
  sourceRanges: rename("service.beta.kubernetes.io/load-balancer-source-ranges"),
  topologyHints: rename("service.kubernetes.io/topology-aware-hints"),
  topologyMode: rename("service.kubernetes.io/topology-mode"),
}));

/** Returns the warnings about a created or updated service. */
export function serviceWarnings({ metadata, spec }: Service, domain: ApiDomain): string[] {
  const { clusterIPs = [], externalIPs = [], loadBalancerSourceRanges = [] } = spec;
  const { topologyHints: annotation, topologyMode: instead } = serviceAnnotations(domain);
  const warnings: string[] = [];
  if (metadata.annotations?.[annotation] !== undefined) {
    warnings.push(`annotation ${annotation} is deprecated, please use ${instead} instead`);
  }
  if (!isHeadless(spec)) {
    for (const [i, ip] of clusterIPs.entries()) addAll(warnings, aboutIp(`spec.clusterIPs[${i}]`, ip));
  }
  for (const [i, ip] of externalIPs.entries()) addAll(warnings, aboutIp(`spec.externalIPs[${i}]`, ip));
  if (spec.loadBalancerIP) addAll(warnings, aboutIp("spec.loadBalancerIP", spec.loadBalancerIP));
  for (const [i, range] of loadBalancerSourceRanges.entries()) {
    addAll(warnings, aboutRange(`spec.loadBalancerSourceRanges[${i}]`, range));
  }
  if (spec.type === "ExternalName" && externalIPs.length > 0) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (spec.type !== "ExternalName" && spec.externalName) {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return warnings;
}
