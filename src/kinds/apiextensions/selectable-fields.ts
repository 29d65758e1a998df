/** Validates the selectable fields of custom resources. Source of the messages: upstream's `cel.ValidFieldPath`. */
import type { SelectableField } from "#api/apiextensions/v1.ts";
import { type FieldError, invalid, required, tooMany } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { type JsonSchemaProps, readFieldPath, unreadable } from "#schema/structural.ts";
import { checkUnique } from "../checks.ts";

const selectableMax = 8;
const simpleTypes: readonly unknown[] = ["string", "boolean", "integer"];

/** Returns the errors of the selectable fields of `parent`: a version, or the spec if all versions share them. */
export function checkSelectableFields(
  fields: readonly SelectableField[],
  schema: JsonSchemaProps | undefined,
  parent: FieldPath,
): FieldError[] {
  const path = parent.child("selectableFields");
  const errors: FieldError[] = [];
  const problem = schema === undefined ? undefined : unreadable(schema);
  if (problem !== undefined) errors.push(invalid(parent.child("schema", "openAPIV3Schema"), "", problem));
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const at = path.index(index).child("jsonPath");
    if (jsonPath === "") {
      errors.push(required(at));
      continue;
    }
    const target = readFieldPath(jsonPath, problem === undefined ? schema : undefined, { brackets: false });
    if (typeof target === "string" || target.schema === undefined) {
      const problem = typeof target === "string" ? target : "does not refer to a valid field";
      errors.push(invalid(at, jsonPath, `is an invalid path: ${problem}`));
      continue;
    }
    if (target.names[0] === "metadata") {
      errors.push(invalid(at, jsonPath, "must not point to fields in metadata"));
    }
    if (!simpleTypes.includes(target.schema.type)) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(invalid(at, jsonPath, detail));
    }
    const name = target.names.join(".");
    checkUnique(name, seen, at, errors, jsonPath);
  }
  if (seen.size > selectableMax) errors.push(tooMany(path, seen.size, selectableMax));
  return errors;
}
