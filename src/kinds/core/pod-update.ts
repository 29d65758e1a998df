/**
 * What an update may change of a pod's spec: images, a shorter deadline, more tolerations, fewer scheduling gates, and,
 * while there are such gates, narrower node selectors. Everything else stays as it was made.
 * Source: `ValidatePodUpdate` in upstream's `pkg/apis/core/validation`.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, goQuote, invalid } from "#meta/field-error.ts";
import { nearestNumber } from "#std/int64.ts";
import { int64Field, type Json, listField, noFields, objectField, textField, textsField } from "../json-edit.ts";

const int32Max = 2 ** 31 - 1;

/** Findings about a pod's spec against the stored one. */
export function validatePodSpecUpdate(spec: Json, old: Json): FieldError[] {
  for (const list of ["containers", "initContainers"]) {
    if (listField(spec, list).length !== listField(old, list).length) {
      return [forbidden(`spec.${list}`, "pod updates may not add or remove containers")];
    }
  }
  const isGated = listField(old, "schedulingGates").length > 0;
  const errors = [
    ...validateDeadline(spec, old),
    ...validateTolerations(spec, old),
    ...validateGates(spec, old),
    ...(isGated ? [...validateNodeSelector(spec, old), ...validateNodeAffinity(spec, old)] : []),
  ];
  return errors.length > 0 ? errors : validateRest(spec, old, isGated);
}

/** What a deadline may be, on its own. */
export function validateActiveDeadline(spec: Json): FieldError[] {
  const deadline = int64Field(spec, "activeDeadlineSeconds");
  if (deadline === undefined || (nearestNumber(deadline) >= 1 && nearestNumber(deadline) <= int32Max)) return [];
  return [invalid("spec.activeDeadlineSeconds", deadline, `must be between 1 and ${int32Max}, inclusive`)];
}

function validateDeadline(spec: Json, old: Json): FieldError[] {
  const field = "spec.activeDeadlineSeconds";
  const deadline = int64Field(spec, "activeDeadlineSeconds");
  const before = int64Field(old, "activeDeadlineSeconds");
  if (deadline === undefined) {
    return before === undefined ? [] : [invalid(field, null, "must not update from a positive integer to nil value")];
  }
  const seconds = nearestNumber(deadline);
  if (seconds < 0 || seconds > int32Max) {
    return [invalid(field, deadline, `must be between 0 and ${int32Max}, inclusive`)];
  }
  if (before === undefined || seconds <= nearestNumber(before)) return [];
  return [invalid(field, deadline, "must be less than or equal to previous value")];
}

function validateTolerations(spec: Json, old: Json): FieldError[] {
  const timeless = ({ tolerationSeconds: _seconds, ...rest }: Json): Json => rest;
  const now = listField(spec, "tolerations").map(timeless);
  const isKept = listField(old, "tolerations").every((toleration) =>
    now.some((candidate) => jsonEquals(candidate, timeless(toleration))),
  );
  if (isKept) return [];
  return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

function validateGates(spec: Json, old: Json): FieldError[] {
  const names = new Set(listField(old, "schedulingGates").map((gate) => textField(gate, "name")));
  return listField(spec, "schedulingGates").flatMap((gate, i) => {
    const name = textField(gate, "name");
    if (names.has(name)) return [];
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return [forbidden(`spec.schedulingGates[${i}].name`, detail)];
  });
}

function validateNodeSelector(spec: Json, old: Json): FieldError[] {
  const now = textsField(spec, "nodeSelector") ?? {};
  const isKept = Object.entries(textsField(old, "nodeSelector") ?? {}).every(
    ([key, value]) => Object.hasOwn(now, key) && now[key] === value,
  );
  if (isKept) return [];
  const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  return [invalid("spec.nodeSelector", now, detail)];
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";

/** The terms of the required node affinity: they may get more requirements, there may not be more of them. */
function validateNodeAffinity(spec: Json, old: Json): FieldError[] {
  const field = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  const now = termsOf(spec);
  const before = termsOf(old);
  if (before.length === 0) return [];
  if (now.length !== before.length) {
    return [invalid(field, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")];
  }
  return now.flatMap((term, i) =>
    isNarrower(term, before[i]!)
      ? []
      : [invalid(`${field}[${i}]`, term, "only additions are allowed (no mutations or deletions)")],
  );
}

const termsOf = (spec: Json): readonly Json[] => {
  const affinity = objectField(objectField(spec, "affinity") ?? noFields, "nodeAffinity") ?? noFields;
  return listField(objectField(affinity, required) ?? noFields, "nodeSelectorTerms");
};

/** A term without requirements selects nothing: any requirement would make it wider. */
function isNarrower(term: Json, old: Json): boolean {
  const lists = ["matchExpressions", "matchFields"];
  if (lists.every((list) => listField(old, list).length === 0)) {
    return lists.every((list) => listField(term, list).length === 0);
  }
  return lists.every((list) =>
    listField(old, list).every((requirement, i) => jsonEquals(listField(term, list)[i], requirement)),
  );
}

const allowed = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** Everything but what was looked at above is as it was. */
function validateRest(spec: Json, old: Json, isGated: boolean): FieldError[] {
  const now = fixedPart(spec, isGated);
  const before = fixedPart(old, isGated);
  const grace = "terminationGracePeriodSeconds";
  const wasNegative = nearestNumber(int64Field(old, grace) ?? 0) < 0;
  const changed = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) =>
      !jsonEquals(now[name] ?? null, before[name] ?? null) && !(name === grace && wasNegative && spec[grace] === 1),
  );
  if (changed.length === 0) return [];
  const detail = `pod updates may not change fields other than ${allowed} (changed: ${changed.map(goQuote).join(", ")})`;
  return [forbidden("spec", detail)];
}

/** A spec without what may change. */
function fixedPart(spec: Json, isGated: boolean): Json {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  const imageless = (list: string): Json[] => listField(spec, list).map(({ image: _image, ...container }) => container);
  const fixed = { ...rest, containers: imageless("containers"), initContainers: imageless("initContainers") };
  if (!isGated) return fixed;
  const { nodeSelector: _selector, affinity: _affinity, ...ungated } = fixed as Json;
  const { nodeAffinity: _nodes, ...affinity } = objectField(spec, "affinity") ?? noFields;
  return Object.keys(affinity).length === 0 ? ungated : { ...ungated, affinity };
}
