/** Validates ingresses and their status. Source: upstream's `pkg/apis/networking/validation`. */
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressServiceBackend,
  IngressTLS,
} from "#api/networking/v1.ts";
import { type ApiDomain, perDomain } from "#meta/api-domain.ts";
import { type FieldError, goQuote, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseIp } from "#meta/ip-address.ts";
import { dns1035Label, dns1123Subdomain, ipAddress, type NameCheck, portName, wildcardSubdomain } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkOneOf, checkOptionalName, checkRange, checkRequiredName, type Errors } from "../checks.ts";
import { validateBalancerHost } from "../core/address-checks.ts";
import { checkTypedReference } from "./typed-reference.ts";

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
/** Texts that a path of type Exact or Prefix must not contain, and texts that such a path must not end with. */
const notInside = ["//", "/./", "/../", "%2f", "%2F"];
const notAtEnd = ["/..", "/."];

const specPath = FieldPath.of("spec");
const addressesPath = FieldPath.of("status", "loadBalancer", "ingress");

/** The annotation that held the name of the class before there was a field. */
const classAnnotation = perDomain(({ rename }) => rename("kubernetes.io/ingress.class"));

export function validateIngress({ spec }: Ingress): FieldError[] {
  const errors: Errors = [];
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  if (defaultBackend === undefined && rules.length === 0) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    errors.push(invalid(specPath, rules, detail));
  }
  if (defaultBackend !== undefined) checkBackend(defaultBackend, specPath.child("defaultBackend"), errors);
  rules.forEach((rule, i) => checkRule(rule, specPath.child("rules").index(i), errors));
  tls.forEach((entry, i) => checkTls(entry, specPath.child("tls").index(i), errors));
  if (ingressClassName !== undefined) {
    checkName(ingressClassName, dns1123Subdomain, specPath.child("ingressClassName"), errors);
  }
  return errors;
}

/** Returns findings about a new ingress. The annotation and the field must name the same class. */
export function validateIngressCreate(object: Ingress, domain: ApiDomain): FieldError[] {
  const errors = validateIngress(object);
  const name = classAnnotation(domain);
  const annotated = object.metadata.annotations?.[name];
  const { ingressClassName } = object.spec;
  if (annotated !== undefined && ingressClassName !== undefined && annotated !== ingressClassName) {
    const detail = "must match `ingressClassName` when both are specified";
    errors.push(invalid(FieldPath.of("annotations", name), annotated, detail));
  }
  return errors;
}

const hostCheck = (host: string): NameCheck => (host.includes("*") ? wildcardSubdomain : dns1123Subdomain);

function checkRule({ host = "", http }: IngressRule, path: FieldPath, errors: Errors): void {
  const hostPath = path.child("host");
  if (parseIp(host) !== undefined) errors.push(invalid(hostPath, host, "must be a DNS name, not an IP address"));
  checkOptionalName(host, hostCheck(host), hostPath, errors);
  if (http === undefined) return;
  const pathsPath = path.child("http", "paths");
  const paths = http.paths ?? [];
  if (paths.length === 0) errors.push(required(pathsPath));
  paths.forEach((one, i) => checkPath(one, pathsPath.index(i), errors));
}

function checkPath({ path: text = "", pathType, backend }: HTTPIngressPath, path: FieldPath, errors: Errors): void {
  // Upstream: nothing else is checked without a path type.
  if (pathType === undefined || pathType === null) {
    errors.push(required(path.child("pathType"), "pathType must be specified"));
    return;
  }
  if (pathType === "ImplementationSpecific") {
    if (text !== "" && !text.startsWith("/"))
      errors.push(invalid(path.child("path"), text, "must be an absolute path"));
  } else if (pathTypes.includes(pathType)) {
    checkSegments(text, path.child("path"), errors);
  } else checkOneOf(pathType, pathTypes, path.child("pathType"), errors);
  checkBackend(backend, path.child("backend"), errors);
}

function checkSegments(text: string, path: FieldPath, errors: Errors): void {
  if (!text.startsWith("/")) errors.push(invalid(path, text, "must be an absolute path"));
  if (text === "") return;
  for (const part of notInside) if (text.includes(part)) errors.push(invalid(path, text, `must not contain '${part}'`));
  for (const end of notAtEnd) if (text.endsWith(end)) errors.push(invalid(path, text, `cannot end with '${end}'`));
}

function checkBackend({ service, resource }: IngressBackend, path: FieldPath, errors: Errors): void {
  if (service !== undefined && resource !== undefined) {
    errors.push(invalid(path, "", "cannot set both resource and service backends"));
  } else if (resource !== undefined) checkTypedReference(resource, path.child("resource"), errors);
  else if (service !== undefined) checkService(service, path, errors);
  else errors.push(invalid(path, "", "resource or service backend is required"));
}

/** Checks the service of a backend; `path` is the path of the backend. */
function checkService({ name, port }: IngressServiceBackend, path: FieldPath, errors: Errors): void {
  checkRequiredName(name, dns1035Label, path.child("service", "name"), errors);
  const { name: named = "", number = 0 } = port;
  const portPath = path.child("service", "port");
  if (named !== "" && number !== 0) errors.push(invalid(path, "", "cannot set both port name & port number"));
  else if (named !== "") checkName(named, portName, portPath.child("name"), errors);
  else if (number === 0) errors.push(required(path, "port name or number is required"));
  else checkRange(number, 1, 65535, portPath.child("number"), errors);
}

function checkTls({ hosts = [], secretName }: IngressTLS, path: FieldPath, errors: Errors): void {
  hosts.forEach((host, i) => checkName(host, hostCheck(host), path.child("hosts").index(i), errors));
  checkOptionalName(secretName, dns1123Subdomain, path.child("secretName"), errors);
}

export function validateIngressStatus({ status }: Ingress): FieldError[] {
  const errors: Errors = [];
  for (const [i, { ip, hostname = "" }] of (status.loadBalancer.ingress ?? []).entries()) {
    const path = addressesPath.index(i);
    checkOptionalName(ip, ipAddress, path.child("ip"), errors);
    if (hostname !== "") addAll(errors, validateBalancerHost(hostname, path.child("hostname")));
  }
  return errors;
}

/** Returns the warnings about a created ingress. */
export function ingressWarnings({ metadata, spec }: Ingress, domain: ApiDomain): string[] {
  const name = classAnnotation(domain);
  if (metadata.annotations?.[name] === undefined || spec.ingressClassName !== undefined) return [];
  return [`annotation ${goQuote(name)} is deprecated, please use 'spec.ingressClassName' instead`];
}
