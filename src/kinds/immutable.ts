/** The validation of immutable fields. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";

/**
 * Returns findings about those fields of `names` that differ; absent and null are equal. `path` is the path of the
 * object.
 */
export function validateImmutable<T extends object>(
  object: T,
  old: T,
  names: readonly (keyof T & string)[],
  path = FieldPath.root,
): FieldError[] {
  return changedFields(object, old, names).map((name) =>
    invalid(path.child(name), object[name] ?? null, "field is immutable"),
  );
}

/** Does the same as `validateImmutable`, with the message that storage classes use. */
export function forbidUpdates<T extends object>(object: T, old: T, names: readonly (keyof T & string)[]): FieldError[] {
  return changedFields(object, old, names).map((name) =>
    forbidden(FieldPath.of(name), `updates to ${name} are forbidden.`),
  );
}

function changedFields<T extends object, K extends keyof T>(object: T, old: T, names: readonly K[]): readonly K[] {
  return names.filter((name) => !jsonEquals(object[name] ?? null, old[name] ?? null));
}
