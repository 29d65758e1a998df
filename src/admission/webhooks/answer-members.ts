/**
 * Reads members of a webhook's answer. A member of another type is an error in the words of Go's decoder; `field` begins
 * with the Go type to which the member belongs: `AdmissionResponse.response.uid`.
 */
import { kindOf } from "#schema/go-json.ts";
import { isObject } from "#std/is-object.ts";

/** The error of an answer that does not belong to the question; `message` begins as upstream's does. */
export class ReviewError extends Error {}

export const unreadable = (why: string): ReviewError => new ReviewError(`failed to call webhook: ${why}`);

/** Reads an object; `undefined` for none. */
export function struct(value: unknown, field: string, type: string): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw wrongType(value, field, type);
  return value;
}

/** Reads the members that are texts, by the names of their Go types, and leaves out empty ones. */
export function texts(
  value: Readonly<Record<string, unknown>>,
  at: string,
  types: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const members = Object.entries(types).map(
    ([name, type]) => [name, text(value[name], `${at}.${name}`, type)] as const,
  );
  return Object.fromEntries(members.filter(([, member]) => member !== ""));
}

/** Returns a whole number; `undefined` for none. */
export function integer(value: unknown, field: string, type: "int32" | "int64"): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number") throw wrongType(value, field, type);
  const isInRange = type === "int32" ? Math.abs(value + 0.5) < 2 ** 31 : Number.isSafeInteger(value);
  if (!Number.isInteger(value) || !isInRange) throw wrongType(value, field, type, `number ${value}`);
  return value;
}

/** Returns a text; an empty one for none. */
export function text(value: unknown, field: string, type = "string"): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw wrongType(value, field, type);
  return value;
}

export function textList(value: unknown, field: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(value, field, "[]string");
  return value.map((item) => text(item, field));
}

export function textMap(value: unknown, field: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw wrongType(value, field, "map[string]string");
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, text(item, field)]));
}

/** Makes the error of a value of another type, in the words of Go's decoder. */
export function wrongType(value: unknown, field: string, type: string, found = goKindOf(value)): ReviewError {
  return unreadable(`json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`);
}

function goKindOf(value: unknown): string {
  const kind = kindOf(value);
  if (kind === "boolean") return "bool";
  return kind === "integer" ? "number" : kind;
}
