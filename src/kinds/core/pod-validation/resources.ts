/** Validates requests and limits of containers. */
import type { ResourceRequirements } from "#api/core/v1.ts";
import { type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { compareQuantityTexts, integerQuantity, parseQuantity } from "#meta/quantity.ts";
import {
  isNative,
  type OwnPrefix,
  validateContainerResourceName,
  validateResourceQuantity,
} from "../resource-names.ts";
import type { Errors } from "../../checks.ts";

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");

/** Checks requests and limits of a container. */
export function checkResources(resources: ResourceRequirements, path: FieldPath, own: OwnPrefix, errors: Errors): void {
  checkAmounts(resources, path, own, validateContainerResourceName, errors);
}

/** Checks requests and limits, whose names have to pass a check. */
export function checkAmounts(
  { limits = {}, requests = {} }: ResourceRequirements,
  path: FieldPath,
  own: OwnPrefix,
  nameErrors: (name: string, path: FieldPath, own: OwnPrefix) => readonly FieldError[],
  errors: Errors,
): void {
  const checkAmount = (name: string, text: string, at: FieldPath): void => {
    for (const error of nameErrors(name, at, own)) errors.push(error);
    for (const error of validateResourceQuantity(name, text, at, own)) errors.push(error);
    if (isHugePages(name) && !isWholePages(name, text)) {
      errors.push(invalid(at, text, `${text} is not positive integer multiple of ${name}`));
    }
  };
  const limitsPath = path.child("limits");
  const requestsPath = path.child("requests");
  for (const name in limits) checkAmount(name, limits[name]!, limitsPath.key(name)); // the name is its own
  for (const name in requests) {
    const request = requests[name]!;
    checkAmount(name, request, requestsPath.key(name));
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    const isExact = !isNative(name, own) || isHugePages(name);
    if (limit === undefined) {
      if (isExact) errors.push(required(limitsPath, "Limit must be set for non overcommitable resources"));
      continue;
    }
    const order = compareQuantityTexts(request, limit);
    if (isExact ? order === 0 : order <= 0) continue;
    const relation = isExact ? "equal to" : "less than or equal to";
    errors.push(invalid(requestsPath, request, `must be ${relation} ${name} limit of ${limit}`));
  }
  const isNamed = (name: string): boolean => Object.hasOwn(limits, name) || Object.hasOwn(requests, name);
  if (isNamed("cpu") || isNamed("memory")) return;
  if (Object.keys(limits).some(isHugePages) || Object.keys(requests).some(isHugePages)) {
    errors.push(forbidden(path, "HugePages require cpu or memory"));
  }
}

function isWholePages(name: string, text: string): boolean {
  const size = parseQuantity(name.slice("hugepages-".length));
  const quantity = parseQuantity(text);
  if (size === undefined || quantity === undefined) return false;
  const bytes = integerQuantity(size, "whole");
  return bytes > 0n && integerQuantity(quantity, "whole") % bytes === 0n;
}
