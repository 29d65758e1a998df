/** The rules that config maps and secrets share: the size of data, and immutable data. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";

/** The maximum number of bytes of all values together. */
export const dataBytesMax = 1024 * 1024;

/**
 * Returns findings about the changes of an object that was made immutable; `names` are the fields that hold its data.
 */
export function validateFrozen<T extends { readonly immutable?: boolean }>(
  object: T,
  old: T,
  names: readonly (keyof T & string)[],
): FieldError[] {
  if (old.immutable !== true) return [];
  const changed = names.filter((name) => !jsonEquals(object[name] ?? null, old[name] ?? null));
  const fields = object.immutable === true ? changed : ["immutable", ...changed];
  return fields.map((field) => forbidden(FieldPath.of(field), "field is immutable when `immutable` is set"));
}

/** Returns the number of bytes that a base64 text encodes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor((text.length * 3) / 4) - padding;
}
