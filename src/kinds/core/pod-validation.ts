/**
 * Validates the specs of pods, and templates of pods in workloads. Source: `ValidatePodSpec` and what it calls in
 * upstream's `pkg/apis/core/validation`.
 */
import type { PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { duplicate, type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label } from "#meta/names.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";

/** Findings about a template of pods at `path`, defaults already in it. */
export function validatePodTemplateSpec(template: PodTemplateSpec, path: FieldPath, domain: ApiDomain): FieldError[] {
  const { metadata, spec } = template;
  const specPath = path.child("spec");
  const errors = validateLabels(metadata.labels, path.child("labels"));
  validateAnnotations(metadata.annotations, path.child("annotations"), errors);
  errors.push(...validatePodSpec(spec, specPath, domain));
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(specPath.child("ephemeralContainers"), "ephemeral containers not allowed in pod template"));
  }
  return errors;
}

/** Findings about a pod spec at `path`, defaults already in it. */
export function validatePodSpec(spec: PodSpec, path: FieldPath, _domain: ApiDomain): FieldError[] {
  return validateContainers(spec, path);
}

/** Names and images of containers; findings below `path`, which is that of the spec. */
export function validateContainers({ containers }: PodSpec, path: FieldPath): FieldError[] {
  if (containers === null || containers.length === 0) return [required(path.child("containers"))];
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [index, { name, image = "" }] of containers.entries()) {
    const pathOf = (field: string): FieldPath => path.child("containers").index(index).child(field);
    if (name === "") errors.push(required(pathOf("name")));
    else {
      for (const message of dns1123Label(name)) errors.push(invalid(pathOf("name"), name, message));
      if (names.has(name)) errors.push(duplicate(pathOf("name"), name));
      names.add(name);
    }
    if (image === "") errors.push(required(pathOf("image")));
    else if (image.trim() !== image) {
      errors.push(invalid(pathOf("image"), image, "must not have leading or trailing whitespace"));
    }
  }
  return errors;
}
