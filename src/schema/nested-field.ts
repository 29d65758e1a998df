/**
 * Reads fields of JSON objects by dotted paths like `.spec.replicas`, with upstream's messages about wrong types.
 * Source: upstream's `unstructured` helpers.
 */
import { isRawNumber } from "#std/raw-number.ts";
import { goText, goTypeOf } from "./go-text.ts";

/** The value or the error; neither if the field is absent. */
interface NestedField<T> {
  readonly value?: T;
  readonly problem?: string;
}

/** Returns the names of a path, which may begin with a dot. */
export const pathNames = (path: string): string[] => path.replace(/^\./, "").split(".");

/** Returns a value of any type. */
export function nestedField(object: unknown, path: string): NestedField<unknown> {
  let value = object;
  const names = pathNames(path);
  for (const [at, name] of names.entries()) {
    if (value === null || value === undefined) return {};
    if (!isJsonObject(value)) return { problem: wrongType(names.slice(0, at + 1), value, "map[string]interface{}") };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return { value };
}

/** Returns a whole number of 64 bits. */
export function nestedInteger(object: unknown, path: string): NestedField<number | bigint> {
  const field = nestedField(object, path);
  const { value } = field;
  if (value === undefined) return field as NestedField<never>; // the field has no value
  if (goTypeOf(value) !== "int64") return { problem: wrongType(pathNames(path), value, "int64") };
  // Other whole numbers are plain numbers.
  return { value: isRawNumber(value) ? BigInt(value.rawJSON) : (value as number) };
}

/** Returns a text. */
export function nestedText(object: unknown, path: string): NestedField<string> {
  const field = nestedField(object, path);
  const { value } = field;
  if (value === undefined) return field as NestedField<never>; // the field has no value
  return typeof value === "string" ? { value } : { problem: wrongType(pathNames(path), value, "string") };
}

const wrongType = (names: readonly string[], value: unknown, wanted: string): string =>
  `.${names.join(".")} accessor error: ${goText(value)} is of the type ${goTypeOf(value)}, expected ${wanted}`;

/** Whether a value is an object with members. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
