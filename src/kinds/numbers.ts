/** Checks of numbers, and of fields that hold a number or a percentage. */
import { type FieldError, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { percent } from "#meta/names.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";

export const validateNotNegative = (value: Int64, path: FieldPath): FieldError[] =>
  nearestNumber(value) < 0 ? [invalid(path, value, "must be greater than or equal to 0")] : [];

/** Validates a number that must not be negative, or a percentage of any size. */
export function validateNumberOrPercent(value: number | string, path: FieldPath): FieldError[] {
  if (typeof value === "number") return validateNotNegative(value, path);
  return percent(value).map((message) => invalid(path, value, message));
}

/** Validates that a percentage is at most 100%. Numbers and texts that are not percentages are valid here. */
export function validateAtMost100Percent(value: number | string, path: FieldPath): FieldError[] {
  if (typeof value === "number" || percent(value).length > 0 || Number(value.slice(0, -1)) <= 100) return [];
  return [invalid(path, value, "must not be greater than 100%")];
}

/** Returns the number itself, or the number of a percentage; 0 for other texts. */
export function numberOf(value: number | string): number {
  if (typeof value === "number") return value;
  const digits = percent(value).length === 0 ? value.slice(0, -1) : value;
  return /^[-+]?\d+$/.test(digits) ? Number(digits) : 0;
}
