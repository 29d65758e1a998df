/**
 * Checks of services and their status, and warnings about what is accepted but unwise.
 * Source: `ValidateService` and what it calls in upstream's `pkg/apis/core/validation`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  GoSyntax,
  goQuote,
  invalid,
  notSupported,
  required,
} from "#meta/field-error.ts";
import { plainBytes } from "#meta/ip-range.ts";
import {
  cidr,
  dns1123Label,
  dns1123Subdomain,
  ipAddress,
  parseIp,
  portName,
  portNumber,
  printIp,
  qualifiedName,
} from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { validateLabels } from "#meta/validate-object-meta.ts";
import { type Json, listField, noFields, numberField, objectField, textField } from "../json-edit.ts";
import { validateAddresses, validateAddressesUpdate } from "./service-addresses.ts";
import {
  isExternal,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
  specOf,
  textsOf,
  typeOf,
} from "./service-fields.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const protocols = ["SCTP", "TCP", "UDP"];
const affinities = ["ClientIP", "None"];
const trafficPolicies = ["Cluster", "Local"];
const kubeletPort = 10250;
const stickySecondsMax = 86400;
const onlyBalancers = "may only be used when `type` is 'LoadBalancer'";

export function validateService(object: Unstructured, domain: ApiDomain): FieldError[] {
  const spec = specOf(object);
  const type = typeOf(spec);
  return [
    ...validateByType(spec, type),
    ...validatePorts(spec),
    ...validateLabels(objectField(spec, "selector") as Readonly<Record<string, string>> | undefined, "spec.selector"), // by its schema
    ...validateAffinity(spec),
    ...validateAddresses(spec),
    ...textsOf(spec, "externalIPs").flatMap((ip, i) => validateReachable(ip, `spec.externalIPs[${i}]`)),
    ...oneOf("spec.type", type, types),
    ...validateNodePorts(spec, type),
    ...validateSourceRanges(object, spec, type, domain),
    ...validateBalancer(spec, type),
    ...validateTraffic(spec),
  ];
}

export function validateServiceUpdate(object: Unstructured, oldObject: Unstructured, domain: ApiDomain): FieldError[] {
  const spec = specOf(object);
  const old = specOf(oldObject);
  const loadBalancerClass = spec["loadBalancerClass"] ?? null;
  const areBalancers = typeOf(spec) === "LoadBalancer" && typeOf(old) === "LoadBalancer";
  const haveHealthChecks = needsHealthCheckPort(spec) && needsHealthCheckPort(old);
  return [
    ...validateAddressesUpdate(spec, old),
    ...(areBalancers && loadBalancerClass !== (old["loadBalancerClass"] ?? null)
      ? [invalid("spec.loadBalancerClass", loadBalancerClass, "may not change once set")]
      : []),
    ...(haveHealthChecks && numberField(spec, "healthCheckNodePort") !== numberField(old, "healthCheckNodePort")
      ? [forbidden("spec.healthCheckNodePort", "field is immutable")]
      : []),
    ...validateService(object, domain),
  ];
}

const oneOf = (field: string, value: string, values: readonly string[]): FieldError[] =>
  value === "" ? [required(field)] : values.includes(value) ? [] : [notSupported(field, value, values)];

function validateByType(spec: Json, type: string): FieldError[] {
  const errors: FieldError[] = [];
  const ports = listField(spec, "ports");
  if (ports.length === 0 && !isHeadless(spec) && type !== "ExternalName") errors.push(required("spec.ports"));
  if (type === "LoadBalancer") {
    for (const [i, port] of ports.entries()) {
      if (numberField(port, "port") !== kubeletPort) continue;
      const text = `may not expose port ${kubeletPort} externally since it is used by kubelet`;
      errors.push(invalid(`spec.ports[${i}]`, kubeletPort, text));
    }
  }
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec)) {
    errors.push(invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`));
  }
  if (type === "ExternalName") errors.push(...validateExternalName(spec));
  return errors;
}

function validateExternalName(spec: Json): FieldError[] {
  const unset = ["clusterIPs", "ipFamilies"].filter((name) => textsOf(spec, name).length > 0);
  if ((spec["ipFamilyPolicy"] ?? null) !== null) unset.push("ipFamilyPolicy");
  const field = "spec.externalName";
  const name = textField(spec, "externalName").replace(/\.$/, "");
  return [
    ...unset.map((name) => forbidden(`spec.${name}`, "may not be set for ExternalName services")),
    ...(name === "" ? [required(field)] : dns1123Subdomain(name).map((message) => invalid(field, name, message))),
  ];
}

function validatePorts(spec: Json): FieldError[] {
  const ports = listField(spec, "ports");
  const names = new Set<string>();
  return ports.flatMap((port, i) => {
    const path = `spec.ports[${i}]`;
    const errors: FieldError[] = [];
    const name = textField(port, "name");
    if (name === "") {
      if (ports.length > 1) errors.push(required(`${path}.name`));
    } else {
      errors.push(...dns1123Label(name).map((message) => invalid(`${path}.name`, name, message)));
      if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
      names.add(name);
    }
    const number = numberField(port, "port");
    errors.push(...portNumber(number).map((message) => invalid(`${path}.port`, number, message)));
    errors.push(...oneOf(`${path}.protocol`, textField(port, "protocol"), protocols));
    const target = port["targetPort"] ?? 0;
    const messages = typeof target === "string" ? portName(target) : portNumber(target as number); // by its schema
    errors.push(...messages.map((message) => invalid(`${path}.targetPort`, target, message)));
    const application = port["appProtocol"] ?? undefined;
    if (typeof application === "string") {
      errors.push(...qualifiedName(application).map((message) => invalid(`${path}.appProtocol`, application, message)));
    }
    return errors;
  });
}

function validateAffinity(spec: Json): FieldError[] {
  const affinity = textField(spec, "sessionAffinity");
  const field = "spec.sessionAffinityConfig";
  const errors = oneOf("spec.sessionAffinity", affinity, affinities);
  const config = objectField(spec, "sessionAffinityConfig");
  if (affinity === "None" && config !== undefined) {
    errors.push(forbidden(field, "must not be set when session affinity is None"));
  }
  if (affinity !== "ClientIP") return errors;
  const text = "when session affinity type is ClientIP";
  if (config === undefined) return [...errors, required(field, text)];
  const client = objectField(config, "clientIP");
  if (client === undefined) return [...errors, required(`${field}.clientIP`, text)];
  const seconds = client["timeoutSeconds"] ?? null;
  if (seconds === null) return [...errors, required(`${field}.clientIP.timeoutSeconds`, text)];
  if (!(Number(seconds) > 0 && Number(seconds) <= stickySecondsMax)) {
    const range = `must be greater than 0 and less than ${stickySecondsMax}`;
    errors.push(invalid(`${field}.clientIP.timeoutSeconds`, seconds, range));
  }
  return errors;
}

/** An address that others can reach: none of those that mean a machine itself or its neighbours. */
export function validateReachable(ip: string, field: string): FieldError[] {
  const messages = ipAddress(ip);
  if (messages.length > 0) return messages.map((message) => invalid(field, ip, message));
  const bytes = plainBytes(ip)!; // it is an address
  const [first = 0, second = 0, third = 0] = bytes;
  const isV4 = bytes.length === 4;
  const isLocal = isV4 ? first === 127 : bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
  const isLinkLocal = isV4 ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80;
  const isLinkLocalMulticast = isV4
    ? first === 224 && second === 0 && third === 0
    : first === 0xff && (second & 0x0f) === 0x02;
  return [
    ...(bytes.every((byte) => byte === 0) ? [invalid(field, ip, `may not be unspecified (${ip})`)] : []),
    ...(isLocal ? [invalid(field, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")] : []),
    ...(isLinkLocal ? [invalid(field, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")] : []),
    ...(isLinkLocalMulticast
      ? [invalid(field, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")]
      : []),
  ];
}

function validateNodePorts(spec: Json, type: string): FieldError[] {
  const errors: FieldError[] = [];
  const ports = listField(spec, "ports");
  const isRepeated = (name: "port" | "nodePort"): ((port: Json) => boolean) => {
    const seen = new Set<string>();
    return (port) => {
      const key = `${textField(port, "protocol")} ${numberField(port, name)}`;
      const isKnown = seen.has(key);
      seen.add(key);
      return isKnown;
    };
  };
  const nodePorts = [...ports.entries()].filter(([, port]) => numberField(port, "nodePort") !== 0);
  if (type === "ClusterIP") {
    const text = "may not be used when `type` is 'ClusterIP'";
    errors.push(...nodePorts.map(([i]) => forbidden(`spec.ports[${i}].nodePort`, text)));
  }
  const repeatsNodePort = isRepeated("nodePort");
  for (const [i, port] of nodePorts) {
    if (repeatsNodePort(port)) errors.push(duplicate(`spec.ports[${i}].nodePort`, numberField(port, "nodePort")));
  }
  const repeatsPort = isRepeated("port");
  for (const [i, port] of ports.entries()) {
    if (repeatsPort(port)) errors.push(duplicate(`spec.ports[${i}]`, printPort(port)));
  }
  return errors;
}

/** Protocol and port as Go prints the struct that holds them. */
const printPort = (port: Json): GoSyntax =>
  new GoSyntax(
    `core.ServicePort{Name:"", Protocol:${goQuote(textField(port, "protocol"))}, AppProtocol:(*string)(nil), Port:${numberField(port, "port")}, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}`,
  );

function validateSourceRanges(object: Unstructured, spec: Json, type: string, domain: ApiDomain): FieldError[] {
  const isWrong = type !== "LoadBalancer";
  const check = (field: string, value: string): FieldError[] =>
    cidr(value.trim()).map((message) => invalid(field, value.trim(), message));
  const ranges = textsOf(spec, "loadBalancerSourceRanges");
  if (ranges.length > 0) {
    // Upstream: with a capital letter.
    const field = "spec.LoadBalancerSourceRanges";
    return [
      ...(isWrong ? [forbidden(field, onlyBalancers)] : []),
      ...ranges.flatMap((range, i) => check(`${field}[${i}]`, range)),
    ];
  }
  const annotation = domain.rename("service.beta.kubernetes.io/load-balancer-source-ranges");
  const annotated = object.metadata.annotations?.[annotation];
  if (annotated === undefined) return [];
  const field = `metadata.annotations[${annotation}]`;
  return [
    ...(isWrong ? [forbidden(field, onlyBalancers)] : []),
    ...(annotated.trim() === "" ? [] : annotated.split(",").flatMap((range) => check(field, range))),
  ];
}

function validateBalancer(spec: Json, type: string): FieldError[] {
  const errors: FieldError[] = [];
  const isBalancer = type === "LoadBalancer";
  const allocates = spec["allocateLoadBalancerNodePorts"] ?? null;
  if (!isBalancer && allocates !== null) {
    errors.push(forbidden("spec.allocateLoadBalancerNodePorts", onlyBalancers));
  }
  if (isBalancer && allocates === null) errors.push(required("spec.allocateLoadBalancerNodePorts"));
  const name = spec["loadBalancerClass"] ?? null;
  if (name === null) return errors;
  const field = "spec.loadBalancerClass";
  if (!isBalancer) return [...errors, forbidden(field, onlyBalancers)];
  const text = textField(spec, "loadBalancerClass");
  return [...errors, ...qualifiedName(text).map((message) => invalid(field, text, message))];
}

function validateTraffic(spec: Json): FieldError[] {
  const errors: FieldError[] = [];
  const outside = textField(spec, "externalTrafficPolicy");
  const field = "spec.externalTrafficPolicy";
  if (isExternal(spec)) errors.push(...oneOf(field, outside, trafficPolicies));
  else if (outside !== "") errors.push(invalid(field, outside, "may only be set for externally-accessible services"));
  const port = numberField(spec, "healthCheckNodePort");
  const portField = "spec.healthCheckNodePort";
  if (!needsHealthCheckPort(spec)) {
    const text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    if (port !== 0) errors.push(invalid(portField, port, text));
  } else if (port === 0) errors.push(required(portField));
  else errors.push(...portNumber(port).map((message) => invalid(portField, port, message)));
  if (needsClusterIp(spec)) {
    errors.push(...oneOf("spec.internalTrafficPolicy", textField(spec, "internalTrafficPolicy"), trafficPolicies));
  }
  const distribution = spec["trafficDistribution"] ?? null;
  if (distribution !== null && distribution !== "PreferClose") {
    errors.push(notSupported("spec.trafficDistribution", distribution, ["PreferClose"]));
  }
  return errors;
}

/** Findings about a new status; `object` has the service's own spec. */
export function validateServiceStatus(object: Unstructured, old: Unstructured): FieldError[] {
  const balancer = (of: Unstructured): readonly Json[] =>
    listField(objectField(objectField(of, "status") ?? noFields, "loadBalancer") ?? noFields, "ingress");
  const field = "status.loadBalancer.ingress";
  const ingress = balancer(object);
  if (typeOf(specOf(object)) !== "LoadBalancer") {
    return ingress.length === 0 || jsonEquals(ingress, balancer(old))
      ? []
      : [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap((one, i) => {
    const path = `${field}[${i}]`;
    const ip = textField(one, "ip");
    const mode = one["ipMode"] ?? null;
    const host = textField(one, "hostname");
    const errors = ip === "" ? [] : ipAddress(ip).map((message) => invalid(`${path}.ip`, ip, message));
    if (ip === "" && mode !== null) {
      errors.push(forbidden(`${path}.ipMode`, "may not be specified when `ip` is not set"));
    } else if (ip !== "" && mode === null)
      errors.push(required(`${path}.ipMode`, "must be specified when `ip` is set"));
    else if (mode !== null && mode !== "VIP" && mode !== "Proxy") {
      errors.push(notSupported(`${path}.ipMode`, mode, ["Proxy", "VIP"]));
    }
    if (host !== "") {
      errors.push(...dns1123Subdomain(host).map((message) => invalid(`${path}.hostname`, host, message)));
      if (parseIp(host) !== undefined) {
        errors.push(invalid(`${path}.hostname`, host, "must be a DNS name, not an IP address"));
      }
    }
    return errors;
  });
}

/** Of creates and updates. */
export function serviceWarnings(object: Unstructured, domain: ApiDomain): string[] {
  const spec = specOf(object);
  const annotation = domain.rename("service.kubernetes.io/topology-aware-hints");
  const warnings: string[] = [];
  if (object.metadata.annotations?.[annotation] !== undefined) {
    const instead = domain.rename("service.kubernetes.io/topology-mode");
    warnings.push(`annotation ${annotation} is deprecated, please use ${instead} instead`);
  }
  if (!isHeadless(spec)) {
    for (const [i, ip] of textsOf(spec, "clusterIPs").entries()) warnings.push(...aboutIp(`spec.clusterIPs[${i}]`, ip));
  }
  for (const [i, ip] of textsOf(spec, "externalIPs").entries()) warnings.push(...aboutIp(`spec.externalIPs[${i}]`, ip));
  const balancer = textField(spec, "loadBalancerIP");
  if (balancer !== "") warnings.push(...aboutIp("spec.loadBalancerIP", balancer));
  for (const [i, range] of textsOf(spec, "loadBalancerSourceRanges").entries()) {
    warnings.push(...aboutRange(`spec.loadBalancerSourceRanges[${i}]`, range));
  }
  if (typeOf(spec) !== "ExternalName" && textField(spec, "externalName") !== "") {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  return warnings;
}

const mayCause = "which may cause controller apply-loops";
const willBeWrong = "was accepted, but will be invalid in a future Kubernetes release";

function aboutIp(field: string, ip: string): string[] {
  const reason = strictly(ip);
  if (reason !== undefined) return [`${field}: IP address ${willBeWrong}: ${reason}`];
  const canonical = canonicalV6(ip);
  if (canonical === undefined) return [];
  return [
    `${field}: IPv6 address ${goQuote(ip)} is not in RFC 5952 canonical format (${goQuote(canonical)}), ${mayCause}`,
  ];
}

function aboutRange(field: string, range: string): string[] {
  const slash = range.lastIndexOf("/");
  const ip = range.slice(0, slash);
  const bits = range.slice(slash + 1);
  const wrongBits = /^(?:0|[1-9]\d*)$/.test(bits) ? undefined : `bad bits after slash: ${goQuote(bits)}`;
  const reason = strictly(ip) ?? wrongBits;
  if (reason !== undefined)
    return [`${field}: IP prefix ${willBeWrong}: netip.ParsePrefix(${goQuote(range)}): ${reason}`];
  const canonical = canonicalV6(ip);
  if (canonical === undefined) return [];
  const text = `${canonical}/${bits}`;
  return [
    `${field}: IPv6 prefix ${goQuote(range)} is not in RFC 5952 canonical format (${goQuote(text)}), ${mayCause}`,
  ];
}

/** What Go's stricter parser says of an address that is read leniently; `undefined`: nothing. */
function strictly(ip: string): string | undefined {
  const parse = `ParseAddr(${goQuote(ip)})`;
  const odd = ip.includes(".") ? ip.search(/[^\da-fA-F.:]/) : -1;
  if (odd >= 0) return `${parse}: unexpected character (at ${goQuote(ip.slice(odd))})`;
  if (parseIp(ip) === undefined) return `${parse}: unable to parse IP`;
  return /(?:^|[.:])0\d+(?=\.|$)/.test(ip) ? `${parse}: IPv4 field has octet with leading zero` : undefined;
}

/** How an IPv6 address should be written; `undefined` when it is, and for IPv4 ones. */
function canonicalV6(ip: string): string | undefined {
  if (plainBytes(ip)?.length !== 16) return undefined;
  const canonical = printIp(parseIp(ip)!); // it is an address
  return canonical === ip ? undefined : canonical;
}
