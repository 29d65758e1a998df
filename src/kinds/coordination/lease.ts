/** Lease and LeaseCandidate: leader election. */
import type { Lease } from "#api/coordination/v1.ts";
import type { LeaseCandidate } from "#api/coordination/v1alpha2.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function leases(): KindBehaviour<Lease> {
  return {
    anyFinalizers: true,
    columns: [nameColumn, text("Holder", "Who has the lease.", ({ spec }) => spec.holderIdentity ?? ""), ageColumn],
    strategy: { validate, validateUpdate: validate },
  };
}

function validate({ spec: { leaseDurationSeconds: seconds, leaseTransitions: transitions } }: Lease): FieldError[] {
  const errors: FieldError[] = [];
  if (seconds !== undefined && seconds <= 0) {
    errors.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
  }
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
}

export function leaseCandidates(): KindBehaviour<LeaseCandidate> {
  return {
    columns: [
      nameColumn,
      text("LeaseName", "Lease that is wanted.", ({ spec }) => spec.leaseName),
      text("BinaryVersion", "Version of the candidate's program.", ({ spec }) => spec.binaryVersion),
      text("EmulationVersion", "Version that the candidate acts as.", ({ spec }) => spec.emulationVersion ?? ""),
      ageColumn,
    ],
  };
}
