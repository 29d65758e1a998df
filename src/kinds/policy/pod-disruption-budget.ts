/**
 * PodDisruptionBudget: how many pods of a set may be disrupted at a time. Every field of the spec may change. Evictions
 * (`../pod-eviction.ts`) write the status. Source: upstream's `apis/policy/validation`.
 */
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from "#api/policy/v1.ts";
import { type FieldError, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, integer, nameColumn, text } from "../cells.ts";
import { validateConditions } from "../conditions.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateAtMost100Percent, validateNotNegative, validateNumberOrPercent } from "../numbers.ts";

export function podDisruptionBudgets(): KindBehaviour<PodDisruptionBudget> {
  return {
    anyFinalizers: true,
    nameRule: "pathSegment",
    columns: [
      nameColumn,
      text("Min Available", "How many pods must stay.", ({ spec }) => String(spec.minAvailable ?? "N/A")),
      text("Max Unavailable", "How many pods may be missing.", ({ spec }) => String(spec.maxUnavailable ?? "N/A")),
      integer("Allowed Disruptions", "How many pods may go now.", ({ status }) => status.disruptionsAllowed),
      ageColumn,
    ],
    strategy: {
      validate: ({ spec }) => validateSpec(spec, false),
      validateUpdate: ({ spec }, old) => validateSpec(spec, hasInvalidSelector(old.spec)),
      subresources: { status: { validateUpdate: validateStatus } },
    },
  };
}

const unhealthyPodEvictionPolicies = ["AlwaysAllow", "IfHealthyBudget"];

const specPath = FieldPath.of("spec");
const selectorPath = specPath.child("selector");
const statusPath = FieldPath.of("status");

/**
 * Returns findings about the spec. `allowInvalidValues` accepts invalid label values in the selector, if the stored
 * budget has some.
 */
function validateSpec(spec: PodDisruptionBudgetSpec, allowInvalidValues: boolean): FieldError[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec;
  const errors: FieldError[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    errors.push(invalid(specPath, spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const name of ["minAvailable", "maxUnavailable"] as const) {
    const value = spec[name];
    if (value === undefined) continue;
    const path = specPath.child(name);
    errors.push(...validateNumberOrPercent(value, path), ...validateAtMost100Percent(value, path));
  }
  if (selector !== undefined) addAll(errors, validateLabelSelector(selector, selectorPath, { allowInvalidValues }));
  if (policy !== undefined && !unhealthyPodEvictionPolicies.includes(policy)) {
    errors.push(notSupported(specPath.child("unhealthyPodEvictionPolicy"), policy, unhealthyPodEvictionPolicies));
  }
  return errors;
}

const hasInvalidSelector = ({ selector }: PodDisruptionBudgetSpec): boolean =>
  selector !== undefined && validateLabelSelector(selector, selectorPath).length > 0;

/**
 * Returns findings about the status. Upstream: neither the names of disrupted pods nor the observed generation are
 * checked.
 */
function validateStatus({ status }: PodDisruptionBudget): FieldError[] {
  const counters = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const;
  return [
    ...validateConditions(status.conditions ?? [], statusPath.child("conditions")),
    ...counters.flatMap((name) => validateNotNegative(status[name], statusPath.child(name))),
  ];
}
