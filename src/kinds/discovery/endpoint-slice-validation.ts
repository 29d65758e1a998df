/** Validates endpoint slices. Source: upstream's `pkg/apis/discovery/validation`. */
import type { Endpoint, EndpointPort, EndpointSlice, ForZone } from "#api/discovery/v1.ts";
import { type FieldError, invalid, required, tooMany } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { plainBytes } from "#meta/ip-range.ts";
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkOneOf, checkOptionalName, checkRequiredOneOf, checkUnique, type Errors } from "../checks.ts";
import { validateReachable } from "../core/address-checks.ts";
import { validateImmutable } from "../immutable.ts";

const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["SCTP", "TCP", "UDP"];
const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;
const hintsMax = 8;

const endpointsPath = FieldPath.of("endpoints");
const portsPath = FieldPath.of("ports");

export function validateEndpointSlice(slice: EndpointSlice): FieldError[] {
  const errors: Errors = [];
  const { addressType } = slice;
  checkRequiredOneOf(addressType, addressTypes, FieldPath.of("addressType"), errors);
  const endpoints = slice.endpoints ?? [];
  if (endpoints.length > endpointsMax) errors.push(tooMany(endpointsPath, endpoints.length, endpointsMax));
  else endpoints.forEach((endpoint, i) => checkEndpoint(endpoint, addressType, endpointsPath.index(i), errors));
  checkPorts(slice.ports ?? [], errors);
  return errors;
}

export const validateEndpointSliceUpdate = (slice: EndpointSlice, old: EndpointSlice): FieldError[] => [
  ...validateEndpointSlice(slice),
  ...validateImmutable(slice, old, ["addressType"]),
];

function checkEndpoint(endpoint: Endpoint, type: string, path: FieldPath, errors: Errors): void {
  const { nodeName, hostname, hints } = endpoint;
  const addresses = endpoint.addresses ?? [];
  const addressesPath = path.child("addresses");
  if (addresses.length === 0) errors.push(required(addressesPath, "must contain at least 1 address"));
  else if (addresses.length > addressesMax) errors.push(tooMany(addressesPath, addresses.length, addressesMax));
  addresses.forEach((address, i) => checkAddress(address, type, addressesPath.index(i), errors));
  if (nodeName !== undefined) checkName(nodeName, dns1123Subdomain, path.child("nodeName"), errors);
  if (hostname !== undefined) checkName(hostname, dns1123Label, path.child("hostname"), errors);
  if (hints !== undefined) checkZones(hints.forZones ?? [], path.child("hints", "forZones"), errors);
}

const bytesOf: Readonly<Record<string, number>> = { IPv4: 4, IPv6: 16 };

function checkAddress(address: string, type: string, path: FieldPath, errors: Errors): void {
  if (type === "FQDN") checkDomainName(address, path, errors);
  if (!Object.hasOwn(bytesOf, type)) return;
  if (plainBytes(address)?.length !== bytesOf[type])
    errors.push(invalid(path, address, `must be a valid ${type} address`));
  addAll(errors, validateReachable(address, path));
}

/** Checks a domain name, which may end with a dot. */
function checkDomainName(text: string, path: FieldPath, errors: Errors): void {
  if (text === "") {
    errors.push(required(path));
    return;
  }
  const name = text.endsWith(".") ? text.slice(0, -1) : text;
  const before = errors.length;
  checkName(name, dns1123Subdomain, path, errors);
  if (errors.length > before) return;
  const labels = name.split(".");
  if (labels.length < 2)
    errors.push(invalid(path, name, "should be a domain with at least two segments separated by dots"));
  for (const label of labels) checkName(label, dns1123Label, path, errors);
}

function checkZones(zones: readonly ForZone[], path: FieldPath, errors: Errors): void {
  if (zones.length > hintsMax) {
    errors.push(tooMany(path, zones.length, hintsMax));
    return;
  }
  const seen = new Set<string>();
  for (const [i, { name }] of zones.entries()) {
    const at = path.index(i).child("name");
    if (checkUnique(name, seen, at, errors)) checkName(name, labelValue, at, errors);
  }
}

function checkPorts(ports: readonly EndpointPort[], errors: Errors): void {
  if (ports.length > portsMax) {
    errors.push(tooMany(portsPath, ports.length, portsMax));
    return;
  }
  const seen = new Set<string>();
  for (const [i, { name = "", protocol, appProtocol }] of ports.entries()) {
    const path = portsPath.index(i);
    checkOptionalName(name, dns1123Label, path.child("name"), errors);
    checkUnique(name, seen, path.child("name"), errors);
    if (protocol === undefined) errors.push(required(path.child("protocol")));
    else checkOneOf(protocol, protocols, path.child("protocol"), errors);
    if (appProtocol !== undefined) checkName(appProtocol, qualifiedName, path.child("appProtocol"), errors);
  }
}
