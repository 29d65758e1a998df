/**
 * Checks of a service's cluster addresses and their families, by themselves and against what they were.
 * Source: `ValidateServiceClusterIPsRelatedFields` and the rules of upgrades in upstream's `pkg/apis/core/validation`.
 */
import { duplicate, type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { type IpFamily, ipFamily } from "#meta/ip-range.ts";
import { ipAddress } from "#meta/names.ts";
import { type Json, textField } from "../json-edit.ts";
import {
  headless,
  isHeadless,
  needsClusterIp,
  policyOf,
  preferDualStack,
  requireDualStack,
  singleStack,
  textsOf,
  typeOf,
} from "./service-fields.ts";

const families: readonly string[] = ["IPv4", "IPv6"] satisfies readonly IpFamily[];
const policies = [preferDualStack, requireDualStack, singleStack];

const ips = "spec.clusterIPs";

/** Findings about the addresses and families that a service names. */
export function validateAddresses(spec: Json): FieldError[] {
  if (typeOf(spec) === "ExternalName") return [];
  const addresses = textsOf(spec, "clusterIPs");
  const errors = [...validateAgreement(spec, addresses), ...validateFamilies(spec)];
  const wrong = addresses.flatMap((address, i) => {
    if (i > 0 || address !== headless) {
      return ipAddress(address).map((message) => invalid(`${ips}[${i}]`, address, message));
    }
    return addresses.length > 1 ? [invalid(ips, goTexts(addresses), "'None' must be the first and only value")] : [];
  });
  errors.push(...wrong);
  if (addresses.length > 2) errors.push(invalid(ips, goTexts(addresses), "may only hold up to 2 values"));
  // What is said of several addresses would be skewed by a wrong one among them.
  if (wrong.length > 0) return errors;
  if (addresses.length > 1 && new Set(addresses.map(ipFamily)).size < 2) {
    errors.push(invalid(ips, goTexts(addresses), "may specify no more than one IP for each IP family"));
  }
  if (!isHeadless(spec) && errors.length === 0) errors.push(...validateMatch(spec, addresses));
  if (policyOf(spec) === singleStack && errors.length === 0) errors.push(...validateSingle(spec));
  return errors;
}

function validateAgreement(spec: Json, addresses: readonly string[]): FieldError[] {
  const ip = textField(spec, "clusterIP");
  if (ip === "") {
    if (addresses.length === 0) return [];
    return [invalid(ips, goTexts(addresses), "must be empty when `clusterIP` is not specified")];
  }
  if (addresses.length === 0) return [required(ips)];
  return addresses[0] === ip ? [] : [invalid(ips, goTexts(addresses), "first value must match `clusterIP`")];
}

function validateFamilies(spec: Json): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, family] of textsOf(spec, "ipFamilies").entries()) {
    const field = `spec.ipFamilies[${i}]`;
    if (!families.includes(family)) errors.push(notSupported(field, family, families));
    if (seen.has(family)) errors.push(duplicate(field, family));
    seen.add(family);
  }
  const policy = spec["ipFamilyPolicy"] ?? undefined;
  if (policy !== undefined && !policies.includes(policyOf(spec))) {
    errors.push(notSupported("spec.ipFamilyPolicy", policy, policies));
  }
  return errors;
}

/** Addresses are of the families at their places. */
function validateMatch(spec: Json, addresses: readonly string[]): FieldError[] {
  const named = textsOf(spec, "ipFamilies");
  return addresses.flatMap((address, i) =>
    i >= named.length || ipFamily(address) === named[i]
      ? []
      : [invalid(`${ips}[${i}]`, address, `expected an ${named[i]} value as indicated by \`ipFamilies[${i}]\``)],
  );
}

function validateSingle(spec: Json): FieldError[] {
  const tooMany = (what: string): FieldError =>
    invalid(
      "spec.ipFamilyPolicy",
      singleStack,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...(textsOf(spec, "clusterIPs").length > 1 ? [tooMany("cluster IPs")] : []),
    ...(textsOf(spec, "ipFamilies").length > 1 ? [tooMany("IP families")] : []),
  ];
}

/** The first address and family stay; a second one may come and, with the policy, go. */
export function validateAddressesUpdate(spec: Json, old: Json): FieldError[] {
  if (typeOf(spec) === "ExternalName" || typeOf(old) === "ExternalName") return [];
  const staysHeadless = isHeadless(spec) && isHeadless(old);
  return [
    ...validateKept(spec, old, {
      name: "clusterIPs",
      unset: "primary clusterIP can not be unset",
      secondary: "clusterIP",
    }),
    ...(staysHeadless
      ? []
      : validateKept(spec, old, {
          name: "ipFamilies",
          unset: "primary ipFamily can not be unset",
          secondary: "ipFamily",
        })),
  ];
}

function validateKept(
  spec: Json,
  old: Json,
  { name, unset, secondary }: { readonly name: string; readonly unset: string; readonly secondary: string },
): FieldError[] {
  const before = textsOf(old, name);
  const after = textsOf(spec, name);
  if (before.length === 0) return [];
  // A type that does not exist is told alone: the addresses went with the one that did.
  if (after.length === 0) return needsClusterIp(spec) ? [invalid(`spec.${name}[0]`, goTexts(after), unset)] : [];
  const errors = after
    .map((value, i) => ({ value, i }))
    .filter(({ value, i }) => i < before.length && value !== before[i])
    .map(({ i }) => invalid(`spec.${name}[${i}]`, goTexts(after), "may not change once set"));
  if (after.length < before.length && policyOf(spec) !== singleStack) {
    const text = `must be set to 'SingleStack' when releasing the secondary ${secondary}`;
    errors.push(invalid("spec.ipFamilyPolicy", policyOf(spec), text));
  }
  return errors;
}
