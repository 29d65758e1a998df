/** Which fields of custom resources field selectors may name. Source of the wording: upstream's `cel.ValidFieldPath`. */
import { duplicate, type FieldError, invalid, required, tooMany } from "#meta/field-error.ts";
import type { JsonSchemaProps } from "#schema/structural.ts";

const selectableMax = 8;
const simpleTypes: readonly unknown[] = ["string", "boolean", "integer"];

export function checkSelectableFields(
  fields: readonly { readonly jsonPath: string }[],
  schema: JsonSchemaProps | undefined,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath = "" }] of fields.entries()) {
    const at = `${field}[${index}].jsonPath`;
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
    const path = found.names.join(".");
    if (seen.has(path)) errors.push(duplicate(at, jsonPath));
    seen.add(path);
  }
  if (seen.size > selectableMax) errors.push(tooMany(field, seen.size, selectableMax));
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
