/** Endpoints: the addresses behind a service. */
import type { EndpointAddress, EndpointPort, Endpoints, EndpointSubset } from "#api/core/v1.ts";
import { type FieldError, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain, ipAddress, qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { checkName, checkOptionalName, checkRange, checkRequiredOneOf, type Errors } from "../checks.ts";
import { editItems, fillZero } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateReachable } from "./address-checks.ts";

const shownMax = 3;
const protocols = ["SCTP", "TCP", "UDP"];
const portMax = 65535;

const subsetsPath = FieldPath.of("subsets");

export function endpoints(): KindBehaviour<Endpoints> {
  return {
    columns: [nameColumn, text("Endpoints", "Addresses and ports that are ready.", addressesText), ageColumn],
    strategy: {
      defaults: (object) =>
        editItems(object, "subsets", (subset) =>
          editItems(subset, "ports", (port) => fillZero(port, { protocol: "TCP" })),
        ),
      validate,
      validateUpdate: validate,
    },
  };
}

function validate({ subsets = [] }: Endpoints): FieldError[] {
  const errors: Errors = [];
  subsets.forEach((subset, i) => checkSubset(subset, subsetsPath.index(i), errors));
  return errors;
}

function checkSubset(subset: EndpointSubset, path: FieldPath, errors: Errors): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length + notReadyAddresses.length === 0) {
    errors.push(required(path, "must specify `addresses` or `notReadyAddresses`"));
  }
  addresses.forEach((address, i) => checkAddress(address, path.child("addresses").index(i), errors));
  notReadyAddresses.forEach((address, i) => checkAddress(address, path.child("notReadyAddresses").index(i), errors));
  ports.forEach((port, i) => checkPort(port, ports.length > 1, path.child("ports").index(i), errors));
}

function checkAddress({ ip, hostname, nodeName }: EndpointAddress, path: FieldPath, errors: Errors): void {
  checkName(ip, ipAddress, path.child("ip"), errors);
  checkOptionalName(hostname, dns1123Label, path.child("hostname"), errors);
  if (nodeName !== undefined) checkName(nodeName, dns1123Subdomain, path.child("nodeName"), errors);
  addAll(errors, validateReachable(ip, path.child("ip")));
}

function checkPort(
  { name = "", port, protocol, appProtocol }: EndpointPort,
  needsName: boolean,
  path: FieldPath,
  errors: Errors,
): void {
  if (name === "" && needsName) errors.push(required(path.child("name")));
  checkOptionalName(name, dns1123Label, path.child("name"), errors);
  checkRange(port, 1, portMax, path.child("port"), errors);
  checkRequiredOneOf(protocol, protocols, path.child("protocol"), errors);
  if (appProtocol !== undefined) checkName(appProtocol, qualifiedName, path.child("appProtocol"), errors);
}

function addressesText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return "<none>";
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const ips = addresses.map(({ ip }) => ip);
    if (ports.length === 0) return ips;
    return ports.flatMap(({ port }) => ips.map((ip) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)));
  });
  return firstOf(all, shownMax, "");
}
