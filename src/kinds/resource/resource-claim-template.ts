/** ResourceClaimTemplate: the template of a pod's resource claim. Its spec never changes. */
import type { ResourceClaimTemplate } from "#api/resource/v1beta1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { ageColumn, nameColumn } from "../cells.ts";
import { editField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultClaimSpec, isEmptyClaimSpec, validateClaimSpec } from "./device-claim.ts";

export function resourceClaimTemplates(): KindBehaviour<ResourceClaimTemplate> {
  return {
    columns: [nameColumn, ageColumn],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editField(spec, "spec", defaultClaimSpec)),
      validate,
      validateUpdate: (object, old) =>
        jsonEquals(object.spec, old.spec)
          ? validate(object)
          : [invalid(FieldPath.of("spec"), object.spec, "field is immutable")],
    },
  };
}

const metadataPath = FieldPath.of("spec", "metadata");
const claimPath = FieldPath.of("spec", "spec");

/** Returns findings about a template. The specification requires the claim's spec; upstream accepts an empty one. */
function validate({ spec: { metadata, spec } }: ResourceClaimTemplate): FieldError[] {
  return [
    ...validateTemplateMeta(metadata),
    ...(isEmptyClaimSpec(spec) ? [required(claimPath)] : validateClaimSpec(spec, claimPath)),
  ];
}

function validateTemplateMeta({ annotations, labels, ...others }: ObjectMeta): FieldError[] {
  return [
    ...validateAnnotations(annotations, metadataPath.child("annotations")),
    ...validateLabels(labels, metadataPath.child("labels")),
    ...Object.entries(others)
      .filter(([, value]) => value !== null)
      .map(([name]) => forbidden(metadataPath.child(name), "cannot be set")),
  ];
}
