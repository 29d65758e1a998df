/** Checks of fields that many kinds share. They add errors to `errors`. */
import { duplicate, type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { type NameCheck, pathSegment, rangeMessage } from "#meta/names.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";

export type Errors = FieldError[];

/** Returns a warning about a field. */
export const warningAt = (path: FieldPath, text: string): string => `${path.toString()}: ${text}`;

/** Checks a text as a name: adds every message of `check`. */
export function checkName(text: string, check: NameCheck, path: FieldPath, errors: Errors): void {
  for (const message of check(text)) errors.push(invalid(path, text, message));
}

/** Checks a name as `checkName` does; an empty or absent text is valid. */
export function checkOptionalName(text: string | undefined, check: NameCheck, path: FieldPath, errors: Errors): void {
  if (text) checkName(text, check, path, errors);
}

/** Checks a name as `checkName` does; the text is required, for the reason `detail`. */
export function checkRequiredName(
  text: string | undefined,
  check: NameCheck,
  path: FieldPath,
  errors: Errors,
  detail?: string,
): void {
  if (!text) errors.push(required(path, detail));
  else checkName(text, check, path, errors);
}

/** Checks each name of a list as `checkName` does. */
export function checkNames(names: readonly string[] = [], check: NameCheck, path: FieldPath, errors: Errors): void {
  for (const [index, name] of names.entries()) checkName(name, check, path.index(index), errors);
}

/** Checks each item of a list. `check` gets the path of the item. */
export function checkEach<T>(
  items: readonly T[] | null | undefined,
  check: (item: T, path: FieldPath, errors: Errors) => void,
  path: FieldPath,
  errors: Errors,
): void {
  for (const [index, item] of (items ?? []).entries()) check(item, path.index(index), errors);
}

/**
 * Checks that a value is not among the earlier ones, adds it to them, and returns whether it is new. The finding shows
 * `shown`.
 */
export function checkUnique<T>(
  value: T,
  earlier: Set<T>,
  path: FieldPath,
  errors: Errors,
  shown: unknown = value,
): boolean {
  const isNew = !earlier.has(value);
  if (!isNew) errors.push(duplicate(path, shown));
  earlier.add(value);
  return isNew;
}

export function checkRequired(text: string | undefined, path: FieldPath, errors: Errors): void {
  if (!text) errors.push(required(path));
}

/** Checks that a reference, if there is one, has the name of an object. */
export function checkReference(holder: { readonly name?: string } | undefined, path: FieldPath, errors: Errors): void {
  if (holder !== undefined) checkRequired(holder.name, path.child("name"), errors);
}

/** Checks a kind or a name in a reference by group, kind and name. Messages call the value `what`. */
export function checkSegment(text: string, what: string, path: FieldPath, errors: Errors): void {
  checkRequiredName(text, pathSegment, path, errors, `${what} is required`);
}

export function checkOneOf(value: string, values: readonly string[], path: FieldPath, errors: Errors): void {
  if (!values.includes(value)) errors.push(notSupported(path, value, values));
}

/** Checks a value as `checkOneOf` does; an absent value is valid. */
export function checkOptionalOneOf(
  value: string | undefined,
  values: readonly string[],
  path: FieldPath,
  errors: Errors,
): void {
  if (value !== undefined) checkOneOf(value, values, path, errors);
}

/** Checks a value as `checkOneOf` does; an empty or absent value is missing. */
export function checkRequiredOneOf(
  value: string | undefined,
  values: readonly string[],
  path: FieldPath,
  errors: Errors,
): void {
  if (!value) errors.push(required(path));
  else checkOneOf(value, values, path, errors);
}

export function checkRange(value: Int64 | undefined, low: number, high: number, path: FieldPath, errors: Errors): void {
  if (value === undefined) return;
  const number = nearestNumber(value);
  if (number >= low && number <= high) return;
  errors.push(invalid(path, value, rangeMessage(low, high)));
}

/** Checks the id of a user or group. */
export const checkId = (value: Int64 | undefined, path: FieldPath, errors: Errors): void =>
  checkRange(value, 0, 2 ** 31 - 1, path, errors);

export function checkNotNegative(value: Int64 | undefined, path: FieldPath, errors: Errors): void {
  if (value === undefined || nearestNumber(value) >= 0) return;
  errors.push(invalid(path, value, "must be greater than or equal to 0"));
}

/** Checks the permissions of a file. */
export function checkMode(mode: number | undefined, path: FieldPath, errors: Errors): void {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  errors.push(invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive"));
}

/** Whether a path has a step to the parent. */
export const hasBackstep = (text: string): boolean => text.includes("..") && text.split("/").includes("..");

export function checkNoBackstep(text: string, path: FieldPath, errors: Errors): void {
  if (hasBackstep(text)) errors.push(invalid(path, text, "must not contain '..'"));
}

/** Checks a path that must stay below the folder in which it starts. */
export function checkDescending(text: string, path: FieldPath, errors: Errors): void {
  if (text.startsWith("/")) errors.push(invalid(path, text, "must be a relative path"));
  checkNoBackstep(text, path, errors);
}

/** Checks a path inside a volume that the kubelet fills: the kubelet itself uses names that start with two dots. */
export function checkVolumePath(text: string, path: FieldPath, errors: Errors): void {
  if (text === "") {
    errors.push(required(path));
    return;
  }
  checkDescending(text, path, errors);
  if (text.startsWith("..") && !text.startsWith("../")) {
    errors.push(invalid(path, text, "must not start with '..'"));
  }
}
