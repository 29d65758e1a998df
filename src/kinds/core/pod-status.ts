/** Checks of a pod's status in updates. Source: the answers of kube-apiserver. */
import type { Pod, PodStatus } from "#api/core/v1.ts";
import { duplicate, type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain, qualifiedName } from "#meta/names.ts";
import { checkAddresses } from "./pod-validation/addresses.ts";
import { checkName, type Errors } from "./pod-validation/checks.ts";

const statusPath = FieldPath.of("status");
const claimsPath = statusPath.child("resourceClaimStatuses");
/** As upstream names it. */
const conditionsPath = FieldPath.of("metadata", "conditions");

/** Findings about a new status. */
export function validatePodStatus({ spec, status }: Pod, { status: old }: Pod): FieldError[] {
  const errors: FieldError[] = [];
  checkConditions(status, errors);
  checkAddresses(status, errors);
  const claims = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const names = new Set<string>();
  for (const [i, { name, resourceClaimName }] of (status.resourceClaimStatuses ?? []).entries()) {
    const at = claimsPath.index(i).child("name");
    if (resourceClaimName !== undefined) checkName(resourceClaimName, dns1123Subdomain, at, errors);
    if (names.has(name)) errors.push(duplicate(at, name));
    names.add(name);
    if (!claims.has(name)) errors.push(invalid(at, name, "must match the name of an entry in `spec.resourceClaims`"));
  }
  if (old.qosClass && status.qosClass !== old.qosClass) {
    errors.push(invalid(statusPath.child("qosClass"), status.qosClass ?? "", "field is immutable"));
  }
  return errors;
}

function checkConditions({ conditions = [] }: PodStatus, errors: Errors): void {
  for (const [i, { type }] of conditions.entries()) {
    checkName(type, qualifiedName, conditionsPath.index(i).child("Type"), errors);
  }
}
