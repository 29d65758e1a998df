/**
 * Validates the cluster addresses and IP families of a service, and their changes. Source:
 * `ValidateServiceClusterIPsRelatedFields` and the upgrade rules in upstream's `pkg/apis/core/validation`.
 */
import type { ServiceSpec } from "#api/core/v1.ts";
import { type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type IpFamily, ipFamily } from "#meta/ip-range.ts";
import { ipAddress } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import {
  headless,
  isHeadless,
  needsClusterIp,
  policyOf,
  preferDualStack,
  requireDualStack,
  singleStack,
} from "./service-fields.ts";
import { checkUnique } from "../checks.ts";

const families: readonly string[] = ["IPv4", "IPv6"] satisfies readonly IpFamily[];
const policies = [preferDualStack, requireDualStack, singleStack];

const ips = FieldPath.of("spec", "clusterIPs");
const familiesPath = FieldPath.of("spec", "ipFamilies");
const policyPath = FieldPath.of("spec", "ipFamilyPolicy");

/** Returns findings about the addresses and families of a service. */
export function validateAddresses(spec: ServiceSpec): FieldError[] {
  if (spec.type === "ExternalName") return [];
  const { clusterIPs: addresses = [] } = spec;
  const errors = [...validateAgreement(spec, addresses), ...validateFamilies(spec)];
  const wrong = addresses.flatMap((address, i) => {
    if (i > 0 || address !== headless) {
      return ipAddress(address).map((message) => invalid(ips.index(i), address, message));
    }
    return addresses.length > 1 ? [invalid(ips, goTexts(addresses), "'None' must be the first and only value")] : [];
  });
  addAll(errors, wrong);
  if (addresses.length > 2) errors.push(invalid(ips, goTexts(addresses), "may only hold up to 2 values"));
  // The rules for several addresses need valid ones.
  if (wrong.length > 0) return errors;
  if (addresses.length > 1 && new Set(addresses.map(ipFamily)).size < 2) {
    errors.push(invalid(ips, goTexts(addresses), "may specify no more than one IP for each IP family"));
  }
  if (!isHeadless(spec)) addAll(errors, validateMatch(spec, addresses));
  return errors;
}

function validateAgreement({ clusterIP: ip = "" }: ServiceSpec, addresses: readonly string[]): FieldError[] {
  if (ip === "") {
    if (addresses.length === 0) return [];
    return [invalid(ips, goTexts(addresses), "must be empty when `clusterIP` is not specified")];
  }
  if (addresses.length === 0) return [required(ips)];
  return addresses[0] === ip ? [] : [invalid(ips, goTexts(addresses), "first value must match `clusterIP`")];
}

function validateFamilies(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    if (!families.includes(family)) errors.push(notSupported(familiesPath.index(i), family, families));
    checkUnique(family, seen, familiesPath.index(i), errors);
  }
  if (!policies.includes(policyOf(spec))) {
    errors.push(notSupported(policyPath, spec.ipFamilyPolicy, policies));
  }
  return errors;
}

/** Returns findings about addresses whose family differs from the one with the same index. */
function validateMatch({ ipFamilies: named = [] }: ServiceSpec, addresses: readonly string[]): FieldError[] {
  return addresses.flatMap((address, i) =>
    !families.includes(named[i] ?? "") || ipFamily(address) === named[i]
      ? []
      : [invalid(ips.index(i), address, `expected an ${named[i]} value as indicated by \`ipFamilies[${i}]\``)],
  );
}

/**
 * Returns findings about changed addresses and families. The first ones cannot change; second ones may be added and,
 * with a suitable policy, removed.
 */
export function validateAddressesUpdate(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (spec.type === "ExternalName" || old.type === "ExternalName") return [];
  const errors = validateReleases(spec, spec.clusterIPs, old.clusterIPs, ips, "clusterIP");
  if (isHeadless(spec) && isHeadless(old)) return errors;
  return [...errors, ...validateReleases(spec, spec.ipFamilies, old.ipFamilies, familiesPath, "ipFamily")];
}

/** Returns findings about one of the lists; messages call its members `what`. */
function validateReleases(
  spec: ServiceSpec,
  after: readonly string[] = [],
  before: readonly string[] = [],
  path: FieldPath,
  what: string,
): FieldError[] {
  if (before.length === 0) return [];
  if (after.length === 0) {
    // A service of an unknown type lost its addresses with its old type, so the type is its only finding.
    return needsClusterIp(spec) ? [invalid(path.index(0), goTexts(after), `primary ${what} can not be unset`)] : [];
  }
  const errors = after.flatMap((value, i) =>
    i >= before.length || value === before[i]
      ? []
      : [invalid(path.index(i), goTexts(after), "may not change once set")],
  );
  if (after.length < before.length && policyOf(spec) !== singleStack) {
    const text = `must be set to 'SingleStack' when releasing the secondary ${what}`;
    errors.push(invalid(policyPath, policyOf(spec), text));
  }
  return errors;
}
