/**
 * Validates the resources of a pod as a whole, and compares those of its containers with them. Source: the answers of
 * kube-apiserver.
 */
import type { PodSpec } from "#api/core/v1.ts";
import { type FieldError, forbidden, GoSyntax, invalid, notSupported } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { compareQuantities, compareQuantityTexts, formatQuantity, parseQuantity } from "#meta/quantity.ts";
import { emptyMembers } from "#schema/given-empty.ts";
import { containerRequests } from "../pod-requests.ts";
import { type OwnPrefix, validateResourceName } from "../resource-names.ts";
import type { Errors } from "../../checks.ts";
import { type ClaimNames, checkTakenClaims } from "./resource-claims.ts";
import { checkAmounts } from "./resources.ts";

const supported = ["cpu", "memory"];

function validateName(name: string, path: FieldPath): FieldError[] {
  const errors = validateResourceName(name, path);
  if (errors.length > 0 || supported.includes(name)) return errors;
  return [notSupported(path, new GoSyntax(name), supported)];
}

/** Checks the resources of a pod; `path` is the path of the spec. */
export function checkPodResources(
  spec: PodSpec,
  claims: ClaimNames,
  path: FieldPath,
  own: OwnPrefix,
  errors: Errors,
): void {
  const { resources } = spec;
  if (resources === undefined) return;
  const at = path.child("resources");
  if (resources.claims !== undefined || emptyMembers(resources).includes("claims")) {
    errors.push(forbidden(at.child("claims"), "claims cannot be set for Resources at pod-level"));
    checkTakenClaims(resources.claims, claims, at.child("claims"), errors);
  }
  checkAmounts(resources, at, own, validateName, errors);
  const { requests = {}, limits = {} } = resources;
  for (const [name, sum] of containerRequests(spec)) {
    const request = (Object.hasOwn(requests, name) ? requests[name] : undefined) ?? "0";
    const quantity = parseQuantity(request);
    if (quantity === undefined || compareQuantities(quantity, sum) >= 0) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`;
    errors.push(invalid(at.child("requests").key(name), request, detail));
  }
  for (const [i, { resources: ofContainer }] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(ofContainer.limits ?? {})) {
      const most = Object.hasOwn(limits, name) ? limits[name] : undefined;
      if (most === undefined || compareQuantityTexts(limit, most) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${most}`;
      errors.push(invalid(at.child("containers").index(i).key(name).child("limits"), limit, detail));
    }
  }
}
