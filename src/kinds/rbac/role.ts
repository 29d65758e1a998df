/** Role and ClusterRole: what may be done. Who may write which rules is decided with access control. */
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { isAbsent, type Json, listField, objectField } from "../json-edit.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import type { KindBehaviour } from "../generic.ts";
import { twice } from "./twice.ts";

export function roles(): KindBehaviour {
  const validate = (object: Unstructured): FieldError[] => validateRules(object, true);
  return {
    metadataRepeats: 2,
    strategy: { validate, validateUpdate: (object) => twice(validate(object)) },
  };
}

export function clusterRoles(): KindBehaviour {
  const validate = (object: Unstructured): FieldError[] => [
    ...validateRules(object, false),
    ...validateAggregation(objectField(object, "aggregationRule")),
  ];
  return {
    metadataRepeats: 2,
    strategy: { validate, validateUpdate: (object) => twice(validate(object)) },
  };
}

const texts = (rule: Json, name: string): readonly string[] =>
  isAbsent(rule[name]) ? [] : (rule[name] as readonly string[]); // the schema says so

function validateRules(object: Unstructured, namespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, rule] of listField(object, "rules").entries()) {
    const field = `rules[${index}]`;
    if (texts(rule, "verbs").length === 0) {
      errors.push(required(`${field}.verbs`, "verbs must contain at least one value"));
    }
    const urls = texts(rule, "nonResourceURLs");
    const groups = texts(rule, "apiGroups");
    const resources = texts(rule, "resources");
    if (urls.length > 0) {
      const wrong = (detail: string) => errors.push(invalid(`${field}.nonResourceURLs`, urls, detail));
      if (namespaced) wrong("namespaced rules cannot apply to non-resource URLs");
      if (groups.length + resources.length + texts(rule, "resourceNames").length > 0) {
        wrong("rules cannot apply to both regular resources and non-resource URLs");
      }
      continue;
    }
    if (groups.length === 0) {
      errors.push(required(`${field}.apiGroups`, "resource rules must supply at least one api group"));
    }
    if (resources.length === 0) {
      errors.push(required(`${field}.resources`, "resource rules must supply at least one resource"));
    }
  }
  return errors;
}

function validateAggregation(rule: Json | undefined): FieldError[] {
  if (rule === undefined) return [];
  const field = "aggregationRule.clusterRoleSelectors";
  const selectors = listField(rule, "clusterRoleSelectors");
  if (selectors.length === 0)
    return [required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  return selectors.flatMap((selector, index) => {
    const at = `${field}[${index}]`;
    const errors = validateLabelSelector(selector, at);
    // Upstream: there is then no selector to be shown.
    return errors.length === 0 ? errors : [...errors, invalid(at, null, "invalid label selector.")];
  });
}
