/** Validates requests and limits of containers. */
import type { ResourceRequirements } from "#api/core/v1.ts";
import { forbidden, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { formatQuantity, integerQuantity, parseQuantity } from "#meta/quantity.ts";
import { compareQuantityTexts } from "../claim-spec.ts";
import {
  isNative,
  type OwnPrefix,
  validateContainerResourceName,
  validateResourceQuantity,
} from "../resource-names.ts";
import type { Errors } from "./checks.ts";

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");

export function checkResources(
  { limits = {}, requests = {} }: ResourceRequirements,
  path: FieldPath,
  own: OwnPrefix,
  errors: Errors,
): void {
  const limitsPath = path.child("limits");
  const requestsPath = path.child("requests");
  for (const [name, limit] of Object.entries(limits)) checkAmount(name, limit, limitsPath.key(name), own, errors);
  for (const [name, request] of Object.entries(requests)) {
    checkAmount(name, request, requestsPath.key(name), own, errors);
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    const isExact = !isNative(name, own) || isHugePages(name);
    if (limit === undefined) {
      if (isExact) errors.push(required(limitsPath, "Limit must be set for non overcommitable resources"));
      continue;
    }
    const order = compareQuantityTexts(request, limit);
    if (isExact ? order === 0 : order <= 0) continue;
    const relation = isExact ? "equal to" : "less than or equal to";
    errors.push(invalid(requestsPath, shown(request), `must be ${relation} ${name} limit of ${shown(limit)}`));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    errors.push(forbidden(path, "HugePages require cpu or memory"));
  }
}

function shown(text: string): string {
  const quantity = parseQuantity(text);
  return quantity === undefined ? text : formatQuantity(quantity);
}

function checkAmount(name: string, text: string, path: FieldPath, own: OwnPrefix, errors: Errors): void {
  for (const error of validateContainerResourceName(name, path, own)) errors.push(error);
  for (const error of validateResourceQuantity(name, text, path, own)) errors.push(error);
  if (isHugePages(name) && !isWholePages(name, text)) {
    errors.push(invalid(path, shown(text), `${shown(text)} is not positive integer multiple of ${name}`));
  }
}

function isWholePages(name: string, text: string): boolean {
  const size = parseQuantity(name.slice("hugepages-".length));
  const quantity = parseQuantity(text);
  if (size === undefined || quantity === undefined) return false;
  const bytes = integerQuantity(size, "whole");
  return bytes > 0n && integerQuantity(quantity, "whole") % bytes === 0n;
}
