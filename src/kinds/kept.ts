/** Fields that stay as they were made. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid } from "#meta/field-error.ts";
import type { Json } from "./json-edit.ts";

/** Findings for those of `names` that differ; absent and null are the same. `path` is where the fields are: `spec.`. */
export function validateKept(object: Json, old: Json, names: readonly string[], path = ""): FieldError[] {
  return changed(object, old, names).map((name) =>
    invalid(`${path}${name}`, object[name] ?? null, "field is immutable"),
  );
}

/** The same, in the words that storage classes use. */
export function forbidUpdates(object: Json, old: Json, names: readonly string[]): FieldError[] {
  return changed(object, old, names).map((name) => forbidden(name, `updates to ${name} are forbidden.`));
}

const changed = (object: Json, old: Json, names: readonly string[]): readonly string[] =>
  names.filter((name) => !jsonEquals(object[name] ?? null, old[name] ?? null));
