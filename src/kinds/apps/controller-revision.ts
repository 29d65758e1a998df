/** ControllerRevision: an earlier state of a workload, for rollbacks. */
import type { ControllerRevision } from "#api/apps/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateNotNegative } from "../numbers.ts";

export function controllerRevisions(): KindBehaviour<ControllerRevision> {
  return {
    columns: [
      nameColumn,
      text("Controller", "Workload that the state is of.", controllerText),
      text("Revision", "Number of the state.", ({ revision }) => revision),
      ageColumn,
    ],
    strategy: {
      validate,
      validateUpdate: (object, old) => [...validateRevision(object), ...validateData(object, old)],
    },
  };
}

const validate = (object: ControllerRevision): FieldError[] => {
  const { data = null } = object;
  const errors = validateRevision(object);
  if (data === null) errors.push(required(FieldPath.of("data"), "data is mandatory"));
  else if (typeof data !== "object" || Array.isArray(data)) {
    errors.push(required(FieldPath.of("data"), "data must be a valid JSON object"));
  }
  return errors;
};

const validateRevision = ({ revision }: ControllerRevision): FieldError[] =>
  validateNotNegative(revision, FieldPath.of("revision"));

function validateData({ data = null }: ControllerRevision, old: ControllerRevision): FieldError[] {
  return jsonEquals(data, old.data ?? null) ? [] : [invalid(FieldPath.of("data"), data, "field is immutable")];
}

function controllerText({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return "<none>";
  const group = parseApiVersion(owner.apiVersion)?.group ?? "";
  return `${(group === "" ? owner.kind : `${owner.kind}.${group}`).toLowerCase()}/${owner.name}`;
}
