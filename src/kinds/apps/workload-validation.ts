/**
 * Shared validation of workloads: selectors against the labels of pod templates, forbidden settings of templates,
 * counts of the status. Source: upstream's `pkg/apis/apps/validation`.
 */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { LabelSelector } from "#api/meta/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { compileLabelSelector, printLabels, printLabelSelector, validateLabelSelector } from "#meta/label-selector.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import { validatePodTemplateSpec } from "../core/pod-validation.ts";
import { validateNotNegative } from "../numbers.ts";
import type { Workload } from "./workload.ts";

const specPath = FieldPath.of("spec");
const selectorPath = specPath.child("selector");
const templatePath = specPath.child("template");
const statusPath = FieldPath.of("status");

/** Returns findings about negative numbers in the fields `names`. `path` is the path of the object. */
export function validateCounts<T extends object>(
  object: T,
  names: readonly (keyof T & string)[],
  path: FieldPath,
): FieldError[] {
  return names.flatMap((name) => {
    const count = object[name] as Int64 | null | undefined; // callers name numbers
    return count === undefined || count === null ? [] : validateNotNegative(count, path.child(name));
  });
}

/**
 * Returns findings about the selector and the template of a deployment, replica set or stateful set. `checkTemplate`
 * checks the template. Messages call the kind `called`; `unreadable` is the message about a selector with findings,
 * after which the template is not checked.
 */
export function validateSelected(
  { selector, template }: Workload["spec"],
  { called, unreadable }: { readonly called: string; readonly unreadable: string },
  checkTemplate: (template: PodTemplateSpec) => readonly FieldError[],
): FieldError[] {
  if (selector === null) return [required(selectorPath), ...validateMatch(null, template), ...checkTemplate(template)];
  const errors = validateLabelSelector(selector, selectorPath);
  if (errors.length > 0) return [...errors, invalidSelector(selector, unreadable)];
  const own = isEmpty(selector)
    ? [invalidSelector(selector, `empty selector is invalid for ${called}`)]
    : validateMatch(selector, template);
  return [...own, ...checkTemplate(template)];
}

export const isEmpty = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;

export const invalidSelector = (
  selector: LabelSelector | null,
  detail: string,
  path: FieldPath = selectorPath,
): FieldError => invalid(path, selector && new GoSyntax(printLabelSelector(selector)), detail);

/**
 * Returns a finding unless the selector, which has no findings, matches the labels of the template. An absent selector
 * matches nothing.
 */
export function validateMatch(
  selector: LabelSelector | null,
  { metadata: { labels } }: PodTemplateSpec,
  path: FieldPath = templatePath,
): FieldError[] {
  const compiled = selector === null ? undefined : compileLabelSelector(selector);
  return compiled?.matches(labels) === true ? [] : [mismatch(labels, path)];
}

/** Returns the finding about template labels that the selector of the workload does not match. */
export function mismatch(labels: PodTemplateSpec["metadata"]["labels"], path: FieldPath = templatePath): FieldError {
  const shown = new GoSyntax(printLabels(labels));
  return invalid(path.child("metadata", "labels"), shown, "`selector` does not match template `labels`");
}

/** Returns findings about the template of pods that run until they are deleted. Messages call the workload `kind`. */
export function validateRunningTemplate(template: PodTemplateSpec, kind: string, rules: PodRules): FieldError[] {
  return [...validatePodTemplateSpec(template, templatePath, rules), ...validateRunning(template, kind)];
}

/**
 * Returns findings about settings that end pods: pods of the template must always be restarted and have no deadline.
 */
export function validateRunning({ spec }: PodTemplateSpec, kind: string): FieldError[] {
  const { restartPolicy = "", activeDeadlineSeconds } = spec;
  const path = templatePath.child("spec");
  const errors: FieldError[] = [];
  if (restartPolicy !== "Always") errors.push(notSupported(path.child("restartPolicy"), restartPolicy, ["Always"]));
  if (activeDeadlineSeconds !== undefined) {
    errors.push(forbidden(path.child("activeDeadlineSeconds"), `activeDeadlineSeconds in ${kind} is not Supported`));
  }
  return errors;
}

/** Returns a finding if the selector of a workload changes. */
export function validateSelectorUpdate({ spec: { selector } }: Workload, old: Workload): FieldError[] {
  return jsonEquals(selector, old.spec.selector) ? [] : [invalidSelector(selector, "field is immutable")];
}

/** The fields of a status that count replicas. */
interface Replicas {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
}

/**
 * Returns findings about counts of replicas. `parts` are fields that count some of the replicas; messages call the
 * number of ready ones `ready`.
 */
export function validateReplicas<T extends Replicas>(
  status: T,
  parts: readonly (keyof T & string)[],
  ready = "readyReplicas",
): FieldError[] {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const errors = parts.flatMap((name) => {
    const count = (status[name] ?? 0) as number; // callers name numbers
    return count > replicas ? [invalid(statusPath.child(name), count, "cannot be greater than status.replicas")] : [];
  });
  if (availableReplicas > readyReplicas) {
    const detail = `cannot be greater than ${ready}`;
    errors.push(invalid(statusPath.child("availableReplicas"), availableReplicas, detail));
  }
  return errors;
}

/** Returns a finding if the number of name collisions decreases. */
export function validateCollisions(
  { collisionCount }: { readonly collisionCount?: Int64 },
  old: { readonly collisionCount?: Int64 },
): FieldError[] {
  const before = old.collisionCount;
  if (before === undefined) return [];
  if (collisionCount !== undefined && nearestNumber(collisionCount) >= nearestNumber(before)) return [];
  return [invalid(statusPath.child("collisionCount"), collisionCount ?? 0, "cannot be decremented")];
}
