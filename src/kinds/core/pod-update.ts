/**
 * Mutable fields of a pod's spec: images, a shorter deadline, additional tolerations, fewer scheduling gates, and
 * narrower node selectors while there are gates. Source: `ValidatePodUpdate` in upstream's `pkg/apis/core/validation`.
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Toleration } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, goQuote, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { rangeMessage } from "#meta/names.ts";
import { nearestNumber } from "#std/int64.ts";
import { withField } from "../edit.ts";

const int32Max = 2 ** 31 - 1;

const specPath = FieldPath.of("spec");
const deadlinePath = specPath.child("activeDeadlineSeconds");
const tolerationsPath = specPath.child("tolerations");
const gatesPath = specPath.child("schedulingGates");
const termsPath = specPath.child(
  "affinity",
  "nodeAffinity",
  "requiredDuringSchedulingIgnoredDuringExecution",
  "nodeSelectorTerms",
);

/** Returns findings about a pod's spec compared with the stored one. */
export function validatePodSpecUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  for (const list of ["containers", "initContainers"] as const) {
    if ((spec[list] ?? []).length !== (old[list] ?? []).length) {
      return [forbidden(specPath.child(list), "pod updates may not add or remove containers")];
    }
  }
  const isGated = (old.schedulingGates ?? []).length > 0;
  const deadline = validateDeadline(spec, old);
  // Upstream: nothing else is checked after this finding.
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return deadline;
  return [
    ...deadline,
    ...validateTolerations(spec, old),
    ...validateGates(spec, old),
    ...(isGated ? [...validateNodeSelector(spec, old), ...validateNodeAffinity(spec, old)] : []),
    ...validateRest(spec, old, isGated),
  ];
}

function validateDeadline(
  { activeDeadlineSeconds: deadline }: PodSpec,
  { activeDeadlineSeconds: before }: PodSpec,
): FieldError[] {
  if (deadline === undefined) {
    if (before === undefined) return [];
    return [invalid(deadlinePath, null, "must not update from a positive integer to nil value")];
  }
  const seconds = nearestNumber(deadline);
  if (seconds < 0 || seconds > int32Max) {
    return [invalid(deadlinePath, deadline, rangeMessage(0, int32Max))];
  }
  if (before === undefined || seconds <= nearestNumber(before)) return [];
  return [invalid(deadlinePath, deadline, "must be less than or equal to previous value")];
}

function validateTolerations({ tolerations = [] }: PodSpec, { tolerations: before = [] }: PodSpec): FieldError[] {
  const timeless = ({ key = "", operator = "", value = "", effect = "" }: Toleration): string =>
    JSON.stringify([key, operator, value, effect]);
  const now = new Set(tolerations.map(timeless));
  const isKept = before.every((toleration) => now.has(timeless(toleration)));
  if (isKept) return [];
  return [forbidden(tolerationsPath, "existing toleration can not be modified except its tolerationSeconds")];
}

function validateGates({ schedulingGates = [] }: PodSpec, { schedulingGates: before = [] }: PodSpec): FieldError[] {
  const names = new Set(before.map(({ name }) => name));
  return schedulingGates.flatMap(({ name }, i) =>
    names.has(name)
      ? []
      : [
          forbidden(
            gatesPath.index(i).child("name"),
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

function validateNodeSelector({ nodeSelector = {} }: PodSpec, { nodeSelector: before = {} }: PodSpec): FieldError[] {
  const isKept = Object.entries(before).every(
    ([key, value]) => Object.hasOwn(nodeSelector, key) && nodeSelector[key] === value,
  );
  if (isKept) return [];
  const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  return [invalid(specPath.child("nodeSelector"), nodeSelector, detail)];
}

/**
 * Returns findings about the terms of the required node affinity. Terms may get more requirements, but no term may be
 * added.
 */
function validateNodeAffinity(spec: PodSpec, old: PodSpec): FieldError[] {
  const now = termsOf(spec);
  const before = termsOf(old);
  if (before.length === 0) return [];
  if (now.length !== before.length) {
    return [invalid(termsPath, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")];
  }
  return now.flatMap((term, i) =>
    isNarrower(term, before[i]!)
      ? []
      : [invalid(termsPath.index(i), term, "only additions are allowed (no mutations or deletions)")],
  );
}

const termsOf = ({ affinity }: PodSpec): readonly NodeSelectorTerm[] =>
  affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

/**
 * Whether a term selects no more nodes than before. A term without requirements selects nothing, so a new requirement
 * would widen it.
 */
function isNarrower(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  if (isEmpty(old)) return isEmpty(term);
  return startsWith(term.matchExpressions, old.matchExpressions) && startsWith(term.matchFields, old.matchFields);
}

const isEmpty = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean =>
  matchExpressions.length === 0 && matchFields.length === 0;

const startsWith = (
  requirements: readonly NodeSelectorRequirement[] = [],
  old: readonly NodeSelectorRequirement[] = [],
): boolean => old.every((requirement, i) => jsonEquals(requirements[i], requirement));

const allowed = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** Returns a finding if a field changes that the checks above do not allow. */
function validateRest(spec: PodSpec, old: PodSpec, isGated: boolean): FieldError[] {
  const now = fixedPart(isGated ? withNodeAffinity(spec, old) : spec, isGated);
  const before = fixedPart(old, isGated);
  const isNewGrace =
    spec.terminationGracePeriodSeconds === 1 && nearestNumber(old.terminationGracePeriodSeconds ?? 0) < 0;
  const changed = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) =>
      !jsonEquals(now[name] ?? null, before[name] ?? null) && !(name === "terminationGracePeriodSeconds" && isNewGrace),
  );
  if (changed.length === 0) return [];
  const detail = `pod updates may not change fields other than ${allowed} (changed: ${changed.map(goQuote).join(", ")})`;
  return [forbidden(specPath, detail)];
}

/**
 * Returns the spec with an affinity exactly if the old spec has one, as far as only the node affinity was added or
 * removed. An affinity without content counts as one.
 */
function withNodeAffinity(spec: PodSpec, { affinity: old }: PodSpec): PodSpec {
  const { affinity } = spec;
  if (affinity === undefined) return old?.nodeAffinity === undefined ? spec : withField(spec, "affinity", {});
  if (old !== undefined || affinity.nodeAffinity === undefined || Object.keys(affinity).length > 1) return spec;
  return withField(spec, "affinity", undefined);
}

/** Returns the spec without the fields that may change. */
function fixedPart(spec: PodSpec, isGated: boolean): Readonly<Record<string, unknown>> {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  const imageless = (list: PodSpec["containers"] = []) =>
    (list ?? []).map(({ image: _image, ...container }) => container);
  const fixed = { ...rest, containers: imageless(spec.containers), initContainers: imageless(spec.initContainers) };
  if (!isGated) return fixed;
  const { nodeSelector: _selector, affinity, ...ungated } = fixed;
  return affinity === undefined ? ungated : { ...ungated, affinity: withField(affinity, "nodeAffinity", undefined) };
}
