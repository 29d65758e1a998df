/**
 * Validates addresses in the status of pods: at most one of each family; the first host address must equal `hostIP`.
 */
import type { PodStatus } from "#api/core/v1.ts";
import { internalError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain, ipAddress } from "#meta/names.ts";
import { checkName, checkOptionalName, checkUnique, type Errors } from "../../checks.ts";

const statusPath = FieldPath.of("status");

export function checkAddresses(status: PodStatus, errors: Errors): void {
  const { nominatedNodeName, hostIP = "", hostIPs = [], podIPs = [] } = status;
  checkOptionalName(nominatedNodeName, dns1123Subdomain, statusPath.child("nominatedNodeName"), errors);
  checkList(podIPs, statusPath.child("podIPs"), errors);
  const hostPath = statusPath.child("hostIPs");
  const [first] = hostIPs;
  if (first !== undefined && first.ip !== hostIP) {
    errors.push(invalid(hostPath.index(0).child("ip"), first.ip, "must be equal to `hostIP`"));
  }
  checkList(hostIPs, hostPath, errors);
}

interface Address {
  readonly ip?: string;
}

function checkList(addresses: readonly Address[], path: FieldPath, errors: Errors): void {
  const seen = new Set<string>();
  const families = new Set<boolean>();
  for (const [i, address] of addresses.entries()) {
    const { ip = "" } = address;
    checkName(ip, ipAddress, path.index(i), errors);
    checkUnique(ip, seen, path.index(i), errors, address);
    families.add(ip.includes(":"));
  }
  if (addresses.length < 2) return;
  const wrong = addresses.findIndex(({ ip = "" }) => ipAddress(ip).length > 0);
  if (wrong >= 0) {
    const detail = `failed to check for dual stack with error:invalid IP[${wrong}]: ${addresses[wrong]!.ip ?? ""}`;
    errors.push(internalError(path, detail));
  }
  if (wrong < 0 && addresses.length === families.size) return;
  errors.push(invalid(path, addresses, "may specify no more than one IP for each IP family"));
}
