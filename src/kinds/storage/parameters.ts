/** Opaque parameters that classes pass to storage drivers. */
import { type FieldError, invalid, required, tooLong } from "#meta/field-error.ts";

const entriesMax = 512;
const bytesMax = 256 * 1024;

export function validateParameters(
  parameters: Readonly<Record<string, string>>,
  options: { readonly field: string; readonly allowEmpty: boolean },
): FieldError[] {
  const { field } = options;
  const entries = Object.entries(parameters);
  if (entries.length === 0 && !options.allowEmpty) {
    return [required(field, "must contain at least one key/value pair")];
  }
  if (entries.length > entriesMax) return [tooLong(field, entriesMax)];
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.push(invalid(field, key, "field can not be empty."));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > bytesMax) errors.push(tooLong(field, bytesMax));
  return errors;
}
