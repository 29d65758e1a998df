/**
 * Validation errors of single fields, and their text, `<path>: <label>[: <value>][: <detail>]`, which clients parse.
 * Source: upstream's `util/validation/field`.
 */

import type { FieldPath } from "./field-path.ts";

export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "InternalError"
  | "FieldValueTypeInvalid";

export interface FieldError {
  readonly type: FieldErrorType;
  /** The path, such as `spec.ports[0].name` or `metadata.labels[a]`; an empty path prints as `<nil>`. */
  readonly field: string;
  /** The text after path and colon, as in the `message` of a cause. */
  readonly message: string;
  /** The message without the value. The member is not enumerable, so that copies lack it. */
  readonly withoutValue?: string;
}

/** A value made of parts, shown as Go writes it, where that text holds no pointer; else the value is shown as JSON. */
export class GoSyntax {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A list of texts as Go writes it, or that there is none. */
export const goTexts = (texts: readonly string[] | null | undefined, type = "string"): GoSyntax =>
  new GoSyntax(`[]${type}${texts === null || texts === undefined ? "(nil)" : `{${texts.map(goQuote).join(", ")}}`}`);

/** A struct as Go writes it: texts in quotes, other fields as they are given. */
export function goStruct(type: string, fields: Readonly<Record<string, string | GoSyntax>>): GoSyntax {
  const print = (value: string | GoSyntax): string => (typeof value === "string" ? goQuote(value) : value.text);
  const shown = Object.entries(fields).map(([name, value]) => `${name}:${print(value)}`);
  return new GoSyntax(`${type}{${shown.join(", ")}}`);
}

/** A time as Go writes it: without zeros at the end of its fraction, and null as the first moment of the first year. */
export function goTime(text: string | null): GoSyntax {
  const [, day = "0001-01-01", time = "00:00:00", fraction = ""] =
    /^(.*)T(\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/.exec(text ?? "") ?? [];
  const digits = fraction.replace(/(?<!0)0+$/, "");
  return new GoSyntax(`${day} ${time}${digits === "" ? "" : `.${digits}`} +0000 UTC`);
}

/** Text of a value as Go prints it in field errors: quoted strings, bare scalars, JSON for the rest. */
export function printValue(value: unknown): string {
  if (value === null || value === undefined) return '"null"'; // Upstream: in quotes, like a text
  if (value instanceof GoSyntax) return value.text;
  if (typeof value === "string") return goQuote(shorten(value));
  return typeof value === "object" ? shorten(JSON.stringify(value)) : String(value as number | boolean | bigint); // scalars are left
}

/** The maximum length of a value in a message; upstream shows all of it. */
const shownLengthMax = 64 * 1024;

const shorten = (text: string): string => (text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}...` : text);

/** A Go double-quoted string literal; unprintable characters are escaped, including direction marks. */
export function goQuote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  return `"${text.replace(unprintable, (char) => escapes[char] ?? escapeCode(char.codePointAt(0)!))}"`;
}

const plain = /^[ !#-[\]-~]*$/;
/**
 * Matches quotes, and characters that Go does not count as letters, marks, numbers, punctuation, symbols or the common
 * space.
 */
const unprintable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

const escapes: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  '"': '\\"',
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
});

function escapeCode(code: number): string {
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code > 0xffff) return `\\U${code.toString(16).padStart(8, "0")}`;
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Returns a field error. `label` is the part of `head` before a value. */
function finding(type: FieldErrorType, field: FieldPath, head: string, detail = "", label = head): FieldError {
  const text = (start: string): string => (detail === "" ? start : `${start}: ${detail}`);
  const error = { type, field: String(field), message: text(head) };
  return Object.defineProperty(error, "withoutValue", { value: text(label) });
}

export const required = (field: FieldPath, detail?: string): FieldError =>
  finding("FieldValueRequired", field, "Required value", detail);

export const notFound = (field: FieldPath, value: unknown, detail?: string): FieldError =>
  finding("FieldValueNotFound", field, `Not found: ${printValue(value)}`, detail, "Not found");

export const duplicate = (field: FieldPath, value: unknown, detail?: string): FieldError =>
  finding("FieldValueDuplicate", field, `Duplicate value: ${printValue(value)}`, detail, "Duplicate value");

export const invalid = (field: FieldPath, value: unknown, detail: string): FieldError =>
  finding("FieldValueInvalid", field, `Invalid value: ${printValue(value)}`, detail, "Invalid value");

/** Returns the error of a value whose type differs from its schema. */
export const typeInvalid = (field: FieldPath, value: unknown, detail: string): FieldError =>
  finding("FieldValueTypeInvalid", field, `Invalid value: ${printValue(value)}`, detail, "Invalid value");

/** Returns an error about a whole structure, whose value is not shown. */
export const invalidPart = (field: FieldPath, detail: string): FieldError =>
  finding("FieldValueInvalid", field, "Invalid value", detail);

/** `supported` is printed in the given order. */
export function notSupported(field: FieldPath, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? "" : `supported values: ${supported.map(goQuote).join(", ")}`;
  return finding(
    "FieldValueNotSupported",
    field,
    `Unsupported value: ${printValue(value)}`,
    detail,
    "Unsupported value",
  );
}

export const forbidden = (field: FieldPath, detail: string): FieldError =>
  finding("FieldValueForbidden", field, "Forbidden", detail);

/** A limit below zero, which a definition may have, is not shown. */
export const tooLong = (field: FieldPath, maxBytes: number): FieldError =>
  finding(
    "FieldValueTooLong",
    field,
    `Too long: ${maxBytes < 0 ? "value is too long" : `may not be more than ${maxBytes} bytes`}`,
  );

export const tooMany = (field: FieldPath, count: number, max: number): FieldError =>
  finding("FieldValueTooMany", field, `Too many: ${count}: must have at most ${max} item${max === 1 ? "" : "s"}`);

export const internalError = (field: FieldPath, detail: string): FieldError =>
  finding("InternalError", field, "Internal error", detail);

/** Returns the line of an error in an aggregated message. */
export function printFieldError(error: FieldError): string {
  return `${error.field === "" ? "<nil>" : error.field}: ${error.message}`;
}

/** Returns several error texts as one, without repetitions. Source: upstream's `util/errors`. */
export function aggregate(texts: Iterable<string>): string {
  const [first = "", ...others] = new Set(texts);
  return others.length === 0 ? first : `[${[first, ...others].join(", ")}]`;
}
