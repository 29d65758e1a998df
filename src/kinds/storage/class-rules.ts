/** The rules that storage classes and volume attributes classes share. */
import { invalid, tooLong } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { checkName, checkRequired, type Errors } from "../checks.ts";

/** Checks the name of the program behind a class. Upstream: the message shows it in lower case. */
export function checkProvisioner(name: string, path: FieldPath, errors: Errors): void {
  checkRequired(name, path, errors);
  if (name === "") return;
  const lower = name.toLowerCase();
  checkName(lower, qualifiedName, path, errors);
}

const entriesMax = 512;
const bytesMax = 256 * 1024;

export function checkParameters(parameters: Readonly<Record<string, string>>, path: FieldPath, errors: Errors): void {
  const entries = Object.entries(parameters);
  if (entries.length > entriesMax) {
    errors.push(tooLong(path, entriesMax));
    return;
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.push(invalid(path, key, "field can not be empty."));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > bytesMax) errors.push(tooLong(path, bytesMax));
}
