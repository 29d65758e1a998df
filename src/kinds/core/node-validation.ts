/** Validates nodes and their status. Source: `ValidateNode` in upstream's `pkg/apis/core/validation`. */
import type { Node, NodeSpec, NodeStatus, Taint } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { duplicate, type FieldError, forbidden, goTexts, internalError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { cidr, parseIpRange } from "#meta/ip-range.ts";
import { labelValue, qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkRequiredOneOf, checkUnique, type Errors } from "../checks.ts";
import { type OwnPrefix, validateResourceQuantity } from "./resource-names.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
/** The maximum number of ranges, one for each IP family. */
const rangesMax = 2;

// Upstream: the path begins with metadata.
const taintsPath = FieldPath.of("metadata", "taints");
const specPath = FieldPath.of("spec");
const rangesPath = specPath.child("podCIDRs");
const statusPath = FieldPath.of("status");

export function validateNode({ spec, status }: Node, own: OwnPrefix): FieldError[] {
  const errors: Errors = [];
  checkTaints(spec.taints ?? [], errors);
  checkResources(status, own, errors);
  checkRanges(spec.podCIDRs ?? [], errors);
  return errors;
}

/** Returns findings about an update of a node or of its status. */
export function validateNodeUpdate(node: Node, old: Node, own: OwnPrefix): FieldError[] {
  const { spec, status } = node;
  const errors: Errors = [];
  checkTaints(spec.taints ?? [], errors);
  checkResources(status, own, errors);
  checkAddresses(status, errors);
  checkRanges(spec.podCIDRs ?? [], errors);
  checkGivenOnce(spec, old.spec, errors);
  if ((spec.externalID ?? "") !== (old.spec.externalID ?? "")) {
    errors.push(forbidden(specPath.child("externalID"), "may not be updated"));
  }
  return errors;
}

/** Checks that the provider ID and the ranges do not change once they are set. */
function checkGivenOnce({ podCIDRs, providerID }: NodeSpec, old: NodeSpec, errors: Errors): void {
  const stays = (field: string): string => `node updates may not change ${field} except from "" to valid`;
  if ((old.podCIDRs ?? []).length > 0 && !jsonEquals(podCIDRs, old.podCIDRs)) {
    errors.push(forbidden(rangesPath, stays("podCIDR")));
  }
  if ((old.providerID ?? "") !== "" && providerID !== old.providerID) {
    errors.push(forbidden(specPath.child("providerID"), stays("providerID")));
  }
}

function checkTaints(taints: readonly Taint[], errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const { key, value = "", effect } = taint;
    const path = taintsPath.index(i);
    checkName(key, qualifiedName, path.child("key"), errors);
    checkName(value, labelValue, path.child("value"), errors);
    checkRequiredOneOf(effect, effects, path.child("effect"), errors);
    const id = JSON.stringify([key, effect]);
    if (seen.has(id)) errors.push(duplicate(path, taint, "taints must be unique by key and effect pair"));
    seen.add(id);
  }
}

function checkResources({ capacity = {}, allocatable = {} }: NodeStatus, own: OwnPrefix, errors: Errors): void {
  for (const [field, amounts] of Object.entries({ capacity, allocatable })) {
    for (const [name, text] of Object.entries(amounts)) {
      addAll(errors, validateResourceQuantity(name, text, statusPath.child(field, name), own));
    }
  }
}

function checkAddresses({ addresses = [] }: NodeStatus, errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { type, address }] of addresses.entries()) {
    const id = JSON.stringify([type, address]);
    checkUnique(id, seen, statusPath.child("addresses").index(i), errors, { type, address });
  }
}

/** Checks the address ranges of the pods of a node. */
function checkRanges(ranges: readonly string[], errors: Errors): void {
  const parsed = ranges.map(parseIpRange);
  for (const [i, range] of ranges.entries()) {
    if (parsed[i] === undefined) checkName(range, cidr, rangesPath.index(i), errors);
  }
  if (ranges.length < 2) return;
  const wrong = parsed.indexOf(undefined);
  if (wrong >= 0) {
    const text = `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${ranges[wrong]})`;
    errors.push(internalError(rangesPath, `invalid PodCIDRs. failed to check with dual stack with error:${text}`));
  }
  const isDual = wrong < 0 && new Set(parsed.map((range) => range!.family)).size === rangesMax; // all are ranges
  if (!isDual || ranges.length > rangesMax) {
    errors.push(invalid(rangesPath, goTexts(ranges), "may specify no more than one CIDR for each IP family"));
  }
  const seen = new Set<string>();
  for (const [i, range] of ranges.entries()) {
    checkUnique(range, seen, rangesPath.index(i), errors);
  }
}
