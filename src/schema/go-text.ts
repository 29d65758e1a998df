/** Prints JSON values as Go does in messages. */
import { isRawNumber } from "#std/raw-number.ts";
import { goJson, goNumber, type JsonKind, kindOf } from "./go-json.ts";

/** Returns Go's `%v` of a value: bare texts and numbers, `map[a:1 b:x]`, `[1 2]`, `<nil>`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "number" || typeof value === "bigint" || isRawNumber(value)) return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value === "object") {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${members.map(([name, member]) => `${name}:${goText(member)}`).join(" ")}]`;
  }
  return String(value as string | boolean); // JSON has no other values
}

/** Returns Go's `%v` of a scalar; a list or object as the JSON that Go writes. */
export const goTextOrJson = (value: unknown): string =>
  typeof value === "object" && value !== null && !isRawNumber(value) ? goJson(value) : goText(value);

/** Returns the name of the Go type of a decoded value. */
export const goTypeOf = (value: unknown): string => goTypes[kindOf(value)];

const goTypes: Readonly<Record<JsonKind, string>> = {
  null: "<nil>",
  boolean: "bool",
  string: "string",
  array: "[]interface {}",
  object: "map[string]interface {}",
  integer: "int64",
  number: "float64",
};
