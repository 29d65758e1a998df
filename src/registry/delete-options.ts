/** Validates delete options. Source: upstream's `ValidateDeleteOptions`. */
import type { DeleteOptions, Preconditions } from "#api/meta/v1.ts";
import { type ApiDomain, metaGroup } from "#meta/api-domain.ts";
import { type FieldError, goTexts, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { invalidObject } from "#meta/status-error.ts";
import type { Int64 } from "#std/int64.ts";

/** Validated delete options. */
export interface CheckedDeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: Int64 | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: "Orphan" | "Background" | "Foreground" | undefined;
  readonly preconditions: Preconditions | undefined;
  readonly ignoreStoreReadError: boolean;
}

/** Validates the options. Throws `invalid`. Without `forcedDeletion`, the option to ignore read errors is dropped. */
export function checkDeleteOptions(
  options: DeleteOptions,
  domain: ApiDomain,
  forcedDeletion = false,
): CheckedDeleteOptions {
  const errors: FieldError[] = [];
  const { propagationPolicy, orphanDependents } = options;
  const policies = ["Foreground", "Background", "Orphan", "nil"];
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    errors.push(
      invalid(
        FieldPath.of("propagationPolicy"),
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  } else if (propagationPolicy !== undefined && !policies.slice(0, 3).includes(propagationPolicy)) {
    errors.push(notSupported(FieldPath.of("propagationPolicy"), propagationPolicy, policies));
  }
  const dryRun = dryRunOf(options.dryRun ?? []);
  if (!dryRun.ok) errors.push(dryRun.error);
  const forced = forcedDeletion && options.ignoreStoreReadErrorWithClusterBreakingPotential === true;
  if (forced) errors.push(...besideForce(options));
  if (errors.length > 0) throw invalidObject({ group: metaGroup(domain), kind: "DeleteOptions" }, "", errors);
  return {
    dryRun: dryRun.ok && dryRun.value,
    gracePeriodSeconds: options.gracePeriodSeconds,
    orphanDependents,
    propagationPolicy: propagationPolicy as CheckedDeleteOptions["propagationPolicy"], // checked above
    preconditions: options.preconditions,
    ignoreStoreReadError: forced,
  };
}

/** Finds options that must be unset when read errors are ignored, since they need the object. */
function besideForce(options: DeleteOptions): FieldError[] {
  const names = ["dryRun", "propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"] as const;
  return names.flatMap((name) => {
    const value = options[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [
      invalid(
        FieldPath.of("ignoreStoreReadErrorWithClusterBreakingPotential"),
        true,
        `cannot be set together with .${name}`,
      ),
    ];
  });
}

type DryRun = { readonly ok: true; readonly value: boolean } | { readonly ok: false; readonly error: FieldError };

/** Whether `dryRun` asks for a trial; without a value it is a real request (DRY-01). */
export function dryRunOf(values: readonly string[]): DryRun {
  const dryRuns = values.filter((value) => value !== "");
  if (dryRuns.every((value) => value === "All")) return { ok: true, value: dryRuns.length > 0 };
  return { ok: false, error: notSupported(FieldPath.of("dryRun"), goTexts(values), ["All"]) };
}
