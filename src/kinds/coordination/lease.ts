/** Lease and LeaseCandidate: who leads, and who would. */
import { type FieldError, invalid } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { type Json, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

export function leases(): KindBehaviour {
  return {
    anyFinalizers: true,
    columns: [
      nameColumn,
      text("Holder", "Who has the lease.", (object) => textField(specOf(object), "holderIdentity")),
      ageColumn,
    ],
    strategy: { validate, validateUpdate: validate },
  };
}

function validate(object: Unstructured): FieldError[] {
  const spec = specOf(object);
  const errors: FieldError[] = [];
  const seconds = spec["leaseDurationSeconds"];
  if (typeof seconds === "number" && seconds <= 0) {
    errors.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
  }
  const transitions = spec["leaseTransitions"];
  if (typeof transitions === "number" && transitions < 0) {
    errors.push(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
}

export function leaseCandidates(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("LeaseName", "Lease that is wanted.", (object) => textField(specOf(object), "leaseName")),
      text("BinaryVersion", "Version of the candidate's program.", (object) =>
        textField(specOf(object), "binaryVersion"),
      ),
      text("EmulationVersion", "Version that the candidate acts as.", (object) =>
        textField(specOf(object), "emulationVersion"),
      ),
      ageColumn,
    ],
  };
}
