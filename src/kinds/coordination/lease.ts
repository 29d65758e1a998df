/** Lease: leader election. */
import type { Lease } from "#api/coordination/v1.ts";
import { type FieldError, forbidden, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function leases(): KindBehaviour<Lease> {
  return {
    anyFinalizers: true,
    columns: [nameColumn, text("Holder", "Who has the lease.", ({ spec }) => spec.holderIdentity ?? ""), ageColumn],
    strategy: { validate, validateUpdate: validate },
  };
}

const strategies = ["OldestEmulationVersion"];

function validate({ spec }: Lease): FieldError[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions, strategy, preferredHolder } = spec;
  const errors: FieldError[] = [];
  if (seconds !== undefined && seconds <= 0) {
    errors.push(invalid(FieldPath.of("spec", "leaseDurationSeconds"), seconds, "must be greater than 0"));
  }
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalid(FieldPath.of("spec", "leaseTransitions"), transitions, "must be greater than or equal to 0"));
  }
  if (strategy !== undefined) addAll(errors, validateStrategy(strategy));
  if (preferredHolder && !strategy) {
    errors.push(forbidden(FieldPath.of("spec", "preferredHolder"), "may only be specified if `strategy` is defined"));
  }
  return errors;
}

/** Returns findings about a strategy. A strategy without a prefix must be one that the server knows. */
export function validateStrategy(strategy: string): FieldError[] {
  const path = FieldPath.of("spec", "strategy", "strategy"); // upstream's path
  if (strategy.includes("/")) return qualifiedName(strategy).map((message) => invalid(path, strategy, message));
  return strategies.includes(strategy) ? [] : [notSupported(path, strategy, strategies)];
}
