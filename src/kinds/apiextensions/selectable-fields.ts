/** Validates the selectable fields of custom resources. Source of the messages: upstream's `cel.ValidFieldPath`. */
import type { SelectableField } from "#api/apiextensions/v1.ts";
import { type FieldError, invalid, required, tooMany } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { type JsonSchemaProps, readFieldPath } from "#schema/structural.ts";
import { checkUnique } from "../checks.ts";

const selectableMax = 8;
const simpleTypes: readonly unknown[] = ["string", "boolean", "integer"];

export function checkSelectableFields(
  fields: readonly SelectableField[],
  schema: JsonSchemaProps | undefined,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const at = path.index(index).child("jsonPath");
    if (jsonPath === "") {
      errors.push(required(at));
      continue;
    }
    const target = readFieldPath(jsonPath, schema ?? {}, { brackets: false });
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
