/**
 * The validation of conditions in the form that all newer kinds share. Source: upstream's `ValidateConditions` of
 * `apis/meta/v1`.
 */
import type { Condition } from "#api/meta/v1.ts";
import { duplicate, type FieldError, invalid, required, tooLong } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { formMessage, type NameCheck, qualifiedName } from "#meta/names.ts";
import { nearestNumber } from "#std/int64.ts";
import { checkOneOf, checkRequiredName } from "./checks.ts";

const statuses = ["False", "True", "Unknown"];
const reasonBytesMax = 1024;
const messageBytesMax = 32 * 1024;

const reasonForm = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonMessage = formMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonForm,
  "my_name",
  "MY_NAME",
  "MyName",
  "ReasonA,ReasonB",
  "ReasonA:ReasonB",
);
const reasonPattern = new RegExp(`^${reasonForm}$`);

const conditionReason: NameCheck = (text) => (reasonPattern.test(text) ? [] : [reasonMessage]);

/** Returns findings about a list of conditions at `path`. Each type may occur once. */
export function validateConditions(conditions: readonly Condition[], path: FieldPath): FieldError[] {
  const types = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const { type } = condition;
    const at = path.index(index);
    const errors = types.has(type) ? [duplicate(at.child("type"), type)] : [];
    types.add(type);
    return [...errors, ...validateCondition(condition, at)];
  });
}

/** Returns findings about the condition at `path`. */
export function validateCondition(condition: Condition, path: FieldPath): FieldError[] {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
  const errors = qualifiedName(type).map((text) => invalid(path.child("type"), type, text));
  checkOneOf(status, statuses, path.child("status"), errors);
  if (nearestNumber(observedGeneration) < 0) {
    // Upstream: the message differs from the one of other negative numbers.
    errors.push(invalid(path.child("observedGeneration"), observedGeneration, "must be greater than or equal to zero"));
  }
  if (lastTransitionTime === null) errors.push(required(path.child("lastTransitionTime"), "must be set"));
  checkRequiredName(reason, conditionReason, path.child("reason"), errors, "must be set");
  if (Buffer.byteLength(reason) > reasonBytesMax) errors.push(tooLong(path.child("reason"), reasonBytesMax));
  if (Buffer.byteLength(message) > messageBytesMax) errors.push(tooLong(path.child("message"), messageBytesMax));
  return errors;
}
