/**
 * StorageVersionMigration: a request to store all objects of a resource anew. Source: upstream's
 * `pkg/apis/storagemigration/validation`.
 */
import type { MigrationCondition, StorageVersionMigration } from "#api/storagemigration/v1alpha1.ts";
import { duplicate, type FieldError, goQuote, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { isInt64 } from "#std/int64.ts";
import { addAll } from "#std/add-all.ts";
import { nameColumn, text } from "../cells.ts";
import { checkRequiredName, type Errors } from "../checks.ts";
import { validateCondition } from "../conditions.ts";
import { type KindBehaviour, withMetadataOf, keptByStatus } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const resourcePath = FieldPath.of("spec", "resource");
const statusPath = FieldPath.of("status");
const conditionsPath = statusPath.child("conditions");
const versionPath = statusPath.child("resourceVersion");

export function storageVersionMigrations(): KindBehaviour<StorageVersionMigration> {
  return {
    columns: [
      { ...nameColumn, format: "" },
      text("Resource", "Resource whose objects are moved.", ({ spec: { resource } }) =>
        [resource.resource ?? "", resource.version ?? "", resource.group ?? ""].join("."),
      ),
    ],
    statusResetsMetadata: true,
    strategy: {
      validate,
      validateUpdate: (object, old) => [
        ...validate(object),
        // Upstream: the paths are those of the parts alone.
        ...validateImmutable(resourceOf(object), resourceOf(old), ["group", "version", "resource"]),
      ],
      subresources: {
        status: {
          prepareForUpdate: (object, old) => withMetadataOf(old, object, keptByStatus),
          validateUpdate: validateStatus,
        },
      },
    },
  };
}

function resourceOf({ spec: { resource } }: StorageVersionMigration) {
  return { group: resource.group ?? "", version: resource.version ?? "", resource: resource.resource ?? "" };
}

function validate({ spec: { resource } }: StorageVersionMigration): FieldError[] {
  const errors: Errors = [];
  const any = () => [];
  checkRequiredName(resource.resource, any, resourcePath.child("resource"), errors, "resource is required");
  checkRequiredName(resource.version, any, resourcePath.child("version"), errors, "version is required");
  return errors;
}

function validateStatus({ status }: StorageVersionMigration, { status: old }: StorageVersionMigration): FieldError[] {
  const { resourceVersion = "", conditions = [] } = status;
  const errors = validateVersion(resourceVersion);
  addAll(errors, validateConditions(conditions));
  if (old.resourceVersion && old.resourceVersion !== resourceVersion) {
    errors.push(invalid(versionPath, resourceVersion, "resourceVersion cannot be updated"));
  }
  const [succeeded, failed, isRunning] = ["Succeeded", "Failed", "Running"].map((type) => isTrue(conditions, type));
  const refuse = (detail: string): void => void errors.push(invalid(conditionsPath, conditions, detail));
  if (succeeded === true && failed === true) {
    refuse("Both success and failed conditions cannot be true at the same time");
  }
  if (succeeded === true && isRunning === true) {
    refuse("Running condition cannot be true when success condition is true");
  }
  if (failed === true && isRunning === true) refuse("Running condition cannot be true when failed condition is true");
  const before = old.conditions ?? [];
  if (isTrue(before, "Succeeded") && succeeded !== true) {
    refuse("Success condition cannot be set to false once it is true");
  }
  if (isTrue(before, "Failed") && failed !== true) refuse("Failed condition cannot be set to false once it is true");
  return errors;
}

const isTrue = (conditions: readonly MigrationCondition[], type: string): boolean =>
  conditions.find((condition) => condition.type === type)?.status === "True";

function validateVersion(version: string): FieldError[] {
  if (version === "") return [];
  const wrong = (why: string): FieldError[] => {
    const detail = `failed to parse resource version ${goQuote(version)}: strconv.ParseInt: parsing ${goQuote(version)}: ${why}`;
    return [invalid(versionPath, version, detail)];
  };
  if (!/^[+-]?[0-9]+$/.test(version)) return wrong("invalid syntax");
  const number = BigInt(version.replace(/^\+/, ""));
  if (!isInt64(number.toString())) return wrong("value out of range");
  return number < 0n ? [invalid(versionPath, number, "must be greater than or equal to 0")] : [];
}

function validateConditions(conditions: readonly MigrationCondition[]): FieldError[] {
  const types = new Set<string>();
  return conditions.flatMap(({ lastUpdateTime, reason = "", message = "", ...condition }, index) => {
    const at = conditionsPath.index(index);
    const errors = types.has(condition.type) ? [duplicate(at.child("type"), condition.type)] : [];
    types.add(condition.type);
    return [...errors, ...validateCondition({ ...condition, lastTransitionTime: lastUpdateTime, reason, message }, at)];
  });
}
