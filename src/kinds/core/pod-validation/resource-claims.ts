/** Validates the resource claims of pods, and the claims that containers use. Source: the answers of kube-apiserver. */
import type { PodResourceClaim, ResourceClaim } from "#api/core/v1.ts";
import { duplicate, invalid, notFound, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { checkName, checkOptionalName, checkRequiredName, checkUnique, type Errors } from "../../checks.ts";

/** The names of a pod's claims. */
export type ClaimNames = ReadonlySet<string>;

/** Checks the claims of a pod and returns their names. */
export function checkResourceClaims(
  claims: readonly PodResourceClaim[] = [],
  path: FieldPath,
  errors: Errors,
): ClaimNames {
  const names = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    const at = path.index(i);
    if (name === "" || checkUnique(name, names, at.child("name"), errors)) {
      checkRequiredName(name, dns1123Label, at.child("name"), errors);
    }
    checkSource(claim, at, errors);
    if (resourceClaimName !== undefined) {
      checkName(resourceClaimName, dns1123Subdomain, at.child("resourceClaimName"), errors);
    }
    if (resourceClaimTemplateName !== undefined) {
      checkName(resourceClaimTemplateName, dns1123Subdomain, at.child("resourceClaimTemplateName"), errors);
    }
  }
  return names;
}

function checkSource(claim: PodResourceClaim, path: FieldPath, errors: Errors): void {
  const { resourceClaimName, resourceClaimTemplateName } = claim;
  if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
    const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
    errors.push(invalid(path, claim, detail));
  } else if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
    errors.push(invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
  }
}

/** Checks the claims that a container, or the pod as a whole, uses; `path` is the path of the list. */
export function checkTakenClaims(
  claims: readonly ResourceClaim[] = [],
  names: ClaimNames,
  path: FieldPath,
  errors: Errors,
): void {
  if (claims.length === 0) return;
  /** The used claims as `name` or `name/request`, and the parts of these texts before the first slash. */
  const taken = new Set<string>();
  const inParts = new Set<string>();
  let listText: string | undefined;
  for (const [i, { name, request = "" }] of claims.entries()) {
    const at = path.index(i);
    if (name === "") {
      errors.push(required(at));
      continue;
    }
    checkOptionalName(request, dns1123Label, at.child("request"), errors);
    const text = request === "" ? name : `${name}/${request}`;
    if (taken.has(name) || (request === "" && inParts.has(name))) errors.push(duplicate(at, name));
    else if (taken.has(text)) errors.push(duplicate(at, text));
    taken.add(text);
    if (text.includes("/")) inParts.add(text.slice(0, text.indexOf("/")));
    if (names.has(name)) continue;
    listText ??= names.size === 0 ? " which is empty" : `: ${[...names].sort().join(", ")}`;
    errors.push(notFound(at, name, `must be one of the names in pod.spec.resourceClaims${listText}`));
  }
}
