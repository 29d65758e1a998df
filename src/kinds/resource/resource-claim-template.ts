/** ResourceClaimTemplate: the claim that is made for a pod which asks for one. Its spec never changes. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { ageColumn, nameColumn } from "../cells.ts";
import { editField, isAbsent, type Json, noFields, objectField, textsField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultClaimSpec, isEmptyClaimSpec, validateClaimSpec } from "./device-claim.ts";

export function resourceClaimTemplates(): KindBehaviour {
  return {
    columns: [nameColumn, ageColumn],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editField(spec, "spec", defaultClaimSpec)),
      validate,
      validateUpdate: (object, old) =>
        jsonEquals(object["spec"], old["spec"])
          ? validate(object)
          : [invalid("spec", object["spec"] ?? null, "field is immutable")],
    },
  };
}

/** The specification: the claim's spec is required. Upstream takes an empty one. */
function validate(object: Unstructured): FieldError[] {
  const spec = objectField(object, "spec") ?? noFields;
  const claim = objectField(spec, "spec");
  return [
    ...validateTemplateMeta(objectField(spec, "metadata") ?? noFields),
    ...(claim === undefined || isEmptyClaimSpec(claim)
      ? [required("spec.spec")]
      : validateClaimSpec(claim, "spec.spec")),
  ];
}

function validateTemplateMeta(meta: Json): FieldError[] {
  const field = "spec.metadata";
  return [
    ...validateAnnotations(textsField(meta, "annotations"), `${field}.annotations`),
    ...validateLabels(textsField(meta, "labels"), `${field}.labels`),
    ...Object.keys(meta)
      .filter((name) => name !== "labels" && name !== "annotations" && !isAbsent(meta[name]))
      .map((name) => forbidden(`${field}.${name}`, "cannot be set")),
  ];
}
