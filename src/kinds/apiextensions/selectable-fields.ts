/** Validates the selectable fields of custom resources. Source of the wording: upstream's `cel.ValidFieldPath`. */
import type { SelectableField } from "#api/apiextensions/v1.ts";
import { duplicate, type FieldError, invalid, required, tooMany } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import type { JsonSchemaProps } from "#schema/structural.ts";

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
    const found = follow(jsonPath, schema ?? {});
    if (typeof found === "string") {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${found}`));
      continue;
    }
    if (found.names[0] === "metadata") {
      errors.push(invalid(at, jsonPath, "must not point to fields in metadata"));
    }
    if (!simpleTypes.includes(found.schema.type)) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(invalid(at, jsonPath, detail));
    }
    const name = found.names.join(".");
    if (seen.has(name)) errors.push(duplicate(at, jsonPath));
    seen.add(name);
  }
  if (seen.size > selectableMax) errors.push(tooMany(path, seen.size, selectableMax));
  return errors;
}

interface Followed {
  readonly names: readonly string[];
  readonly schema: JsonSchemaProps;
}

/** The schema a path leads to, or what is wrong with the path. */
function follow(path: string, root: JsonSchemaProps): Followed | string {
  const tokens = path.match(/[.[\]]|'(?:[^'\\]|\\.)*'|[^.[\]]+/g) ?? [];
  const names: string[] = [];
  let schema = root;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token === "[") return "array notation is not allowed";
    if (token !== ".") return `expected [ or . but got: ${token}`;
    const name = tokens[++i];
    if (name === undefined) return "unexpected end of JSON path";
    const { properties, additionalProperties } = schema;
    let next: JsonSchemaProps | undefined;
    if (properties !== undefined) next = Object.hasOwn(properties, name) ? properties[name] : undefined;
    else if (typeof additionalProperties === "object") next = additionalProperties;
    if (next === undefined) return "does not refer to a valid field";
    names.push(name);
    schema = next;
  }
  return { names, schema };
}
