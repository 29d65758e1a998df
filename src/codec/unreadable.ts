/** Error texts for values without a kind or version, in upstream's words for JSON and YAML. */
import { isRawNumber } from "#std/raw-number.ts";

/** The prefix of errors about a body whose kind and version cannot be read. */
export const unreadablePrefix = "couldn't get version/kind; json parse error: ";

const goTypeMeta = String.raw`APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\""`;

/** Returns the error text for a value that should be an object, or whose `field` should be text. */
export function mistypedJson(value: unknown, field?: string): string {
  const what = `${unreadablePrefix}json: cannot unmarshal ${kindOf(value)} into Go`;
  return field === undefined
    ? `${what} value of type struct { ${goTypeMeta} }`
    : `${what} struct field .${field} of type string`;
}

/** Returns the kind of a JSON value, as Go names it in errors. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "object") return isRawNumber(value) ? "number" : "object";
  return typeof value === "boolean" ? "bool" : typeof value === "bigint" ? "number" : typeof value;
}
