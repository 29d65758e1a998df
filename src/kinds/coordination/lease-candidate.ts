/** LeaseCandidate: a program that wants a lease. Source: upstream's `pkg/apis/coordination/validation`. */
import type { LeaseCandidate } from "#api/coordination/v1alpha2.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkRequired, type Errors } from "../checks.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { validateStrategy } from "./lease.ts";
import { compareVersions, isZeroVersion, parseVersion } from "./semantic-version.ts";

const specPath = FieldPath.of("spec");

export function leaseCandidates(): KindBehaviour<LeaseCandidate> {
  return {
    anyFinalizers: true,
    nameRule: "configKey",
    columns: [
      nameColumn,
      text("LeaseName", "Lease that is wanted.", ({ spec }) => spec.leaseName),
      text("BinaryVersion", "Version of the candidate's program.", ({ spec }) => spec.binaryVersion),
      text("EmulationVersion", "Version that the candidate acts as.", ({ spec }) => spec.emulationVersion ?? ""),
      ageColumn,
    ],
    selectableFields: ["metadata.name", "metadata.namespace", "spec.leaseName"],
    strategy: {
      validate,
      validateUpdate: (object, old) => [
        ...validate(object),
        ...validateImmutable(object.spec, old.spec, ["leaseName"], specPath),
      ],
      fields: ({ spec }) => ({ "spec.leaseName": spec.leaseName }),
    },
  };
}

function validate({ spec }: LeaseCandidate): FieldError[] {
  const errors: Errors = [];
  checkRequired(spec.leaseName, specPath.child("leaseName"), errors);
  checkVersions(spec, errors);
  const path = specPath.child("strategy");
  if (!spec.strategy) return [...errors, required(path)];
  const { emulationVersion = "" } = spec;
  if (spec.strategy === "OldestEmulationVersion" && isZeroVersion(parseVersion(emulationVersion))) {
    const detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
    errors.push(required(specPath.child("emulationVersion"), detail));
  }
  addAll(errors, validateStrategy(spec.strategy));
  return errors;
}

function checkVersions({ emulationVersion = "", binaryVersion }: LeaseCandidate["spec"], errors: Errors): void {
  const emulated = parseVersion(emulationVersion);
  const binary = parseVersion(binaryVersion);
  const wrong = "must be a valid semantic version";
  const path = specPath.child("binaryVersion");
  if (emulationVersion !== "" && emulated === undefined) {
    errors.push(invalid(specPath.child("emulationVersion"), emulationVersion, wrong));
  }
  if (binaryVersion === "") errors.push(required(path));
  else if (binary === undefined) errors.push(invalid(path, binaryVersion, wrong));
  // Upstream: a version that cannot be read counts as 0.0.0.
  if (binaryVersion !== "" && emulationVersion !== "" && compareVersions(binary, emulated) < 0) {
    errors.push(invalid(path, binaryVersion, "must be greater than or equal to `emulationVersion`"));
  }
}
