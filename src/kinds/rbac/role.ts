/** Role and ClusterRole: rules of allowed actions. Admission prevents escalation. */
import type { AggregationRule, ClusterRole, PolicyRule, Role } from "#api/rbac/v1.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import type { KindBehaviour } from "../generic.ts";

export function roles(): KindBehaviour<Role> {
  const validate = ({ rules }: Role): FieldError[] => validateRules(rules, true);
  return {
    strategy: { validate, validateUpdate: validate },
  };
}

export function clusterRoles(): KindBehaviour<ClusterRole> {
  const validate = ({ rules, aggregationRule }: ClusterRole): FieldError[] => [
    ...validateRules(rules, false),
    ...validateAggregation(aggregationRule),
  ];
  return {
    strategy: { validate, validateUpdate: validate },
  };
}

const rulesPath = FieldPath.of("rules");
const selectorsPath = FieldPath.of("aggregationRule", "clusterRoleSelectors");

function validateRules(rules: readonly PolicyRule[] | null, namespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, rule] of (rules ?? []).entries()) {
    const path = rulesPath.index(index);
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
    if ((rule.verbs ?? []).length === 0) {
      errors.push(required(path.child("verbs"), "verbs must contain at least one value"));
    }
    if (nonResourceURLs.length > 0) {
      const wrong = (detail: string) => errors.push(invalid(path.child("nonResourceURLs"), nonResourceURLs, detail));
      if (namespaced) wrong("namespaced rules cannot apply to non-resource URLs");
      if (apiGroups.length + resources.length + resourceNames.length > 0) {
        wrong("rules cannot apply to both regular resources and non-resource URLs");
      }
      continue;
    }
    if (apiGroups.length === 0) {
      errors.push(required(path.child("apiGroups"), "resource rules must supply at least one api group"));
    }
    if (resources.length === 0) {
      errors.push(required(path.child("resources"), "resource rules must supply at least one resource"));
    }
  }
  return errors;
}

function validateAggregation(rule: AggregationRule | undefined): FieldError[] {
  if (rule === undefined) return [];
  const { clusterRoleSelectors: selectors = [] } = rule;
  if (selectors.length === 0) {
    return [required(selectorsPath, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return selectors.flatMap((selector, index) => {
    const path = selectorsPath.index(index);
    const errors = validateLabelSelector(selector, path);
    // Upstream: the message shows null in place of the selector.
    return errors.length === 0 ? errors : [...errors, invalid(path, null, "invalid label selector.")];
  });
}
