/** Checks that the kinds of devices share: names, lists with bounds, selectors and settings of drivers. */
import type { DeviceConfiguration, DeviceSelector } from "#api/resource/v1beta1.ts";
import { duplicate, type FieldError, invalid, required, tooLong, tooMany, typeInvalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { cIdentifier, dns1123Subdomain } from "#meta/names.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { checkEach, checkName, checkRequired, type Errors } from "../checks.ts";
import { checkDriverName } from "../core/pod-validation/volume-sources.ts";

const selectorsMax = 32;
const expressionBytesMax = 10 * 1024;
const dataBytesMax = 10 * 1024;
const poolBytesMax = 253;
const identifierBytesMax = 32;

/** Returns the finding about an expression of a selector; `undefined` for a right one. */
export type CheckExpression = (expression: string, path: FieldPath) => FieldError | undefined;

const isLonger = (text: string, max: number): boolean => Buffer.byteLength(text) > max;

export function checkLength(text: string | undefined, max: number, path: FieldPath, errors: Errors): void {
  if (text !== undefined && isLonger(text, max)) errors.push(tooLong(path, max));
}

/** Checks each item of a list, and then their number. */
export function checkList<T>(
  items: readonly T[] | null | undefined,
  max: number,
  check: (item: T, path: FieldPath, errors: Errors) => void,
  path: FieldPath,
  errors: Errors,
): void {
  checkEach(items, check, path, errors);
  const count = items?.length ?? 0;
  if (count > max) errors.push(tooMany(path, count, max));
}

/**
 * Checks that items differ in their key, the text that `keyOf` returns. The finding is about the field `part` of an
 * item, or about the item if there is none, and shows `shown`.
 */
export function checkDistinct<T>(
  items: readonly T[] | null | undefined,
  keyOf: (item: T) => string,
  path: FieldPath,
  errors: Errors,
  { part, shown = (key) => key }: { readonly part?: string; readonly shown?: (key: string) => unknown } = {},
): void {
  const earlier = new Set<string>();
  for (const [index, item] of (items ?? []).entries()) {
    const key = keyOf(item);
    const at = path.index(index);
    if (earlier.has(key)) errors.push(duplicate(part === undefined ? at : at.child(part), shown(key)));
    earlier.add(key);
  }
}

/** Checks the name of a pool: names of domains, joined by slashes. */
export function checkPoolName(name: string, path: FieldPath, errors: Errors): void {
  if (name === "") {
    errors.push(required(path));
    return;
  }
  checkLength(name, poolBytesMax, path, errors);
  for (const part of name.split("/")) checkName(part, dns1123Subdomain, path, errors);
}

/** Checks the name of an attribute or a capacity: an identifier, after the domain of its owner or alone. */
export function checkAttributeName(name: string, path: FieldPath, errors: Errors): void {
  if (name === "") {
    errors.push(required(path, "name required"));
    return;
  }
  const parts = name.split("/");
  // Upstream: a name with more than one slash is not checked.
  if (parts.length > 2) return;
  const [domain, identifier = ""] = parts.length === 2 ? parts : [undefined, name];
  if (domain === "") errors.push(required(path, "the domain must not be empty"));
  else if (domain !== undefined) checkDriverName(domain, path, errors);
  if (identifier === "") errors.push(required(path, "the name must not be empty"));
  else checkIdentifier(identifier, path, errors);
}

function checkIdentifier(text: string, path: FieldPath, errors: Errors): void {
  checkLength(text, identifierBytesMax, path, errors);
  for (const message of cIdentifier(text)) errors.push(typeInvalid(path, text, message));
}

/** Checks the selectors of a request or class. */
export function checkSelectors(
  selectors: readonly DeviceSelector[] | undefined,
  checkExpression: CheckExpression,
  path: FieldPath,
  errors: Errors,
): void {
  const check = ({ cel }: DeviceSelector, at: FieldPath): void => {
    if (cel === undefined) {
      errors.push(required(at.child("cel")));
      return;
    }
    const { expression } = cel;
    const expressionPath = at.child("cel", "expression");
    if (isLonger(expression, expressionBytesMax)) {
      errors.push(tooLong(expressionPath, expressionBytesMax));
      return;
    }
    const error = checkExpression(expression, expressionPath);
    if (error !== undefined) errors.push(error);
  };
  checkList(selectors, selectorsMax, check, path, errors);
}

/** Checks the settings of a driver. */
export function checkConfiguration({ opaque }: DeviceConfiguration, path: FieldPath, errors: Errors): void {
  const at = path.child("opaque");
  if (opaque === undefined) {
    errors.push(required(at));
    return;
  }
  checkDriverName(opaque.driver, at.child("driver"), errors);
  checkData(opaque.parameters, at.child("parameters"), errors);
}

/** Checks data that only drivers understand: an object of limited length. */
export function checkData(data: unknown, path: FieldPath, errors: Errors): void {
  if (data === undefined || data === null) errors.push(required(path));
  else if (isLonger(JSON.stringify(data), dataBytesMax)) errors.push(tooLong(path, dataBytesMax));
  else if (typeof data !== "object" || Array.isArray(data) || isRawNumber(data)) {
    errors.push(invalid(path, "<value omitted>", "parameters must be a valid JSON object"));
  }
}

/** Checks the reference of a consumer: all of its parts are required. */
export function checkAllRequired(parts: Readonly<Record<string, string>>, path: FieldPath, errors: Errors): void {
  for (const [name, text] of Object.entries(parts)) checkRequired(text, path.child(name), errors);
}
