/**
 * The IP families of a service: requested families, defaults, and families that the cluster does not have. Source:
 * `initIPFamilyFields` in upstream's `pkg/registry/core/service/storage`.
 */
import type { ServiceSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, goTexts, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type IpFamily, ipFamily } from "#meta/ip-range.ts";
import { addAll } from "#std/add-all.ts";
import { withField } from "../edit.ts";
import { headless, isHeadless, policyOf, preferDualStack, requireDualStack, singleStack } from "./service-fields.ts";
import { validateAddresses } from "./service-addresses.ts";

const both: readonly IpFamily[] = ["IPv4", "IPv6"];

const policyPath = FieldPath.of("spec", "ipFamilyPolicy");
const familiesPath = FieldPath.of("spec", "ipFamilies");
const addressesPath = FieldPath.of("spec", "clusterIPs");

interface ResolvedFamilies {
  readonly spec: ServiceSpec;
  /** If there are errors, the service is refused with only these. */
  readonly errors: readonly FieldError[];
}

/**
 * Resolves the IP families of a service. `configured` are the families of the cluster's ranges, the default one first.
 */
export function resolveFamilies(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  configured: readonly IpFamily[],
): ResolvedFamilies {
  if (spec.type === "ExternalName" || keepsPreference(spec, old)) return { spec, errors: [] };
  const errors: FieldError[] = [];
  let next = old === undefined ? spec : dropSecondFamily(spec, old, errors);
  const addressErrors = validateAddresses(next);
  if (addressErrors.length > 0) return { spec: next, errors: addressErrors };
  if (policyOf(next) === singleStack) addAll(errors, validateSingle(next));
  next = withFamiliesOfAddresses(next, configured, errors);
  if (errors.length > 0) return { spec: next, errors };
  if (isHeadless(next) && Object.keys(next.selector ?? {}).length === 0) {
    // Endpoints of a service without a selector are written by users and may have any family.
    return { spec: completeFamilies(next, requireDualStack, configured[0]!, both), errors };
  }
  if (policyOf(next) === requireDualStack && configured.length < 2) {
    errors.push(invalid(policyPath, requireDualStack, "this cluster is not configured for dual-stack services"));
  }
  for (const [i, family] of (next.ipFamilies ?? []).entries()) {
    if (!isOneOf(configured, family)) {
      errors.push(invalid(familiesPath.index(i), family, "not configured on this cluster"));
    }
  }
  return { spec: errors.length > 0 ? next : completeFamilies(next, singleStack, configured[0]!, configured), errors };
}

const isOneOf = (families: readonly IpFamily[], text: string): boolean => families.some((family) => family === text);

/**
 * Whether an update leaves the families as they are. A service that prefers two families does not change because the
 * cluster's ranges have changed.
 */
const keepsPreference = (spec: ServiceSpec, old: ServiceSpec | undefined): boolean =>
  old !== undefined &&
  policyOf(spec) === preferDualStack &&
  policyOf(old) === preferDualStack &&
  (old.ipFamilies ?? []).length > 0 &&
  jsonEquals(spec.clusterIPs, old.clusterIPs) &&
  jsonEquals(spec.ipFamilies, old.ipFamilies);

/** Drops the second family and address if an update requests only one. */
function dropSecondFamily(spec: ServiceSpec, old: ServiceSpec, errors: FieldError[]): ServiceSpec {
  let next = spec;
  const policy = policyOf(spec);
  for (const [name, what] of [
    ["clusterIPs", "cluster IP"],
    ["ipFamilies", "IP family"],
  ] as const) {
    const before = old[name] ?? [];
    const after = spec[name] ?? [];
    if (before.length < 2) continue;
    if (policy === singleStack && jsonEquals(after, before)) next = withField(next, name, after.slice(0, 1));
    else if (policy !== singleStack && after.length === 1) {
      errors.push(invalid(policyPath, policy, `must be 'SingleStack' to release the secondary ${what}`));
    }
  }
  return next;
}

/** Returns findings about two addresses or families of a service that asks for one family. */
function validateSingle({ clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  const tooMany = (what: string): FieldError =>
    invalid(
      policyPath,
      singleStack,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...(clusterIPs.length === 2 ? [tooMany("cluster IPs")] : []),
    ...(ipFamilies.length === 2 ? [tooMany("IP families")] : []),
  ];
}

function withFamiliesOfAddresses(
  spec: ServiceSpec,
  configured: readonly IpFamily[],
  errors: FieldError[],
): ServiceSpec {
  const { clusterIPs: addresses = [], ipFamilies = [] } = spec;
  const families = [...ipFamilies];
  if (addresses[0] === headless) return spec;
  for (let i = families.length; i < addresses.length; i++) {
    const family = ipFamily(addresses[i]!)!; // checked before
    if (configured.includes(family)) families.push(family);
    else {
      const text = `${family} is not configured on this cluster`;
      errors.push(invalid(addressesPath.index(i), goTexts(addresses), text));
    }
  }
  return families.length === ipFamilies.length ? spec : withField(spec, "ipFamilies", families);
}

/**
 * Adds the policy and the first family if they are missing, and a second family of `possible` if the policy allows one.
 */
function completeFamilies(
  spec: ServiceSpec,
  policy: string,
  first: IpFamily,
  possible: readonly IpFamily[],
): ServiceSpec {
  const next = spec.ipFamilyPolicy === undefined ? withField(spec, "ipFamilyPolicy", policy) : spec;
  const specFamilies = next.ipFamilies ?? [];
  const families = specFamilies.length === 0 ? [first] : specFamilies;
  const other = possible.find((family) => family !== families[0]);
  if (families.length > 1 || other === undefined || policyOf(next) === singleStack) {
    return withField(next, "ipFamilies", families);
  }
  return withField(next, "ipFamilies", [...families, other]);
}
