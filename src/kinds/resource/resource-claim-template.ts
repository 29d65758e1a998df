/** ResourceClaimTemplate: the template of a pod's resource claim. Its spec never changes. */
import type { ResourceClaimTemplate } from "#api/resource/v1beta1.ts";
import { type FieldError, forbidden, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { ageColumn, nameColumn } from "../cells.ts";
import { editField } from "../edit.ts";
import { expressionWeight } from "../expression-weight.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultClaimSpec, expressionsOf, isEmptyClaimSpec, validateClaimSpec } from "./device-claim.ts";
import type { CheckExpression } from "./device-checks.ts";
import { withExpressionCheck } from "./device-selectors.ts";
import { immutableSpec } from "./device.ts";

export function resourceClaimTemplates(): KindBehaviour<ResourceClaimTemplate> {
  return {
    returnsDeleted: true,
    columns: [nameColumn, ageColumn],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editField(spec, "spec", defaultClaimSpec)),
      weight: ({ spec: { spec } }) => expressionWeight(expressionsOf(spec)),
      validateUpdate: ({ spec }, old) => immutableSpec(spec, old.spec),
      checkRules: (object) => withExpressionCheck(expressionsOf(object.spec.spec), (check) => validate(object, check)),
    },
  };
}

const metadataPath = FieldPath.of("spec", "metadata");
const claimPath = FieldPath.of("spec", "spec");

/** Returns findings about a template. The specification requires the claim's spec; upstream accepts an empty one. */
function validate({ spec: { metadata, spec } }: ResourceClaimTemplate, checkExpression: CheckExpression): FieldError[] {
  return [
    ...validateTemplateMeta(metadata),
    ...(isEmptyClaimSpec(spec) ? [required(claimPath)] : validateClaimSpec(spec, claimPath, checkExpression)),
  ];
}

function validateTemplateMeta({ annotations, labels, ...others }: ObjectMeta): FieldError[] {
  return [
    ...validateAnnotations(annotations, metadataPath.child("annotations")),
    ...validateLabels(labels, metadataPath.child("labels")),
    ...Object.entries(others)
      .filter(([, value]) => value !== null)
      .map(([name]) => forbidden(metadataPath.child(name === "uid" ? "uID" : name), "cannot be set")), // upstream's name
  ];
}
