/**
 * Reading and copying of untyped JSON objects, for hooks that change some fields of shared ones: everything here returns the
 * object it was given when nothing is to change. Absent and null are the same, as they are to Go's decoder.
 */

import { setMember } from "#apply/json-value.ts";
import type { Int64 } from "#std/int64.ts";

export type Json = Readonly<Record<string, unknown>>;

export const noFields: Json = {};

/** A field that holds an object; `undefined` when it is absent or null. */
export function objectField(object: Json, name: string): Json | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined; // checked
}

/** Members of a field that holds a list of objects; empty when it is absent or null. */
export function listField(object: Json, name: string): readonly Json[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return Array.isArray(value) ? (value as readonly Json[]) : []; // the schema says that members are objects
}

/** A field that holds a text; empty when it is absent or null. */
export function textField(object: Json | undefined, name: string): string {
  const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "string" ? value : "";
}

/** A field that holds a number; 0 when it is absent or null. */
export function numberField(object: Json | undefined, name: string): number {
  const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "number" ? value : 0;
}

/** A whole number of 64 bits; `undefined` when it is absent or null. */
export function int64Field(object: Json | undefined, name: string): Int64 | undefined {
  const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  return (value ?? undefined) as Int64 | undefined; // the schema says so
}

/** A field that holds a map of texts; `undefined` when it is absent or null. */
export function textsField(object: Json, name: string): Readonly<Record<string, string>> | undefined {
  return objectField(object, name) as Readonly<Record<string, string>> | undefined; // the schema says so
}

export const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Absent, or the zero value of its type. */
export const isZero = (value: unknown): boolean => isAbsent(value) || value === "" || value === 0 || value === false;

/** The object with one field changed; without it when `value` is undefined. */
export function withField<T extends Json>(object: T, name: string, value: unknown): T {
  if (object[name] === value) return object;
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _gone, ...rest } = object;
  return rest as unknown as T; // the same object with an optional field left out
}

/** Fills members that are absent; names may be anything a client sent. */
export function fillAbsent<T extends Json>(object: T, defaults: Json): T {
  let next: Record<string, unknown> | undefined;
  for (const name of Object.keys(defaults)) {
    if (!Object.hasOwn(object, name) || isAbsent(object[name]))
      setMember((next ??= { ...object }), name, defaults[name]);
  }
  return (next ?? object) as T; // the same object with more fields
}

/** Fills fields that are absent or hold a zero value. */
export function fillZero<T extends Json>(object: T, defaults: Json): T {
  let next: Record<string, unknown> | undefined;
  for (const name of Object.keys(defaults)) {
    if (isZero(object[name])) (next ??= { ...object })[name] = defaults[name];
  }
  return (next ?? object) as T; // the same object with more fields
}

/** Replaces a field that holds an object by what `change` makes of it. Leaves an absent one alone. */
export function editField<T extends Json>(object: T, name: string, change: (value: Json) => Json): T {
  const value = objectField(object, name);
  return value === undefined ? object : withField(object, name, change(value));
}

/** Replaces the members of a field that holds a list of objects. */
export function editItems<T extends Json>(object: T, name: string, change: (item: Json) => Json): T {
  const items = listField(object, name);
  let next: Json[] | undefined;
  for (const [index, item] of items.entries()) {
    const changed = change(item);
    if (changed !== item) (next ??= [...items])[index] = changed;
  }
  return next === undefined ? object : withField(object, name, next);
}

/** Runs changes one after the other. */
export function inOrder(...changes: readonly ((object: Json) => Json)[]): (object: Json) => Json {
  return (object) => {
    let next = object;
    for (const change of changes) next = change(next);
    return next;
  };
}
