/** JSON values as Go prints them in messages. */
import { isRawNumber } from "#std/raw-number.ts";
import { goJson, goNumber } from "./structural/json-value.ts";

/** Go's `%v`: bare texts and numbers, `map[a:1 b:x]`, `[1 2]`, `<nil>`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "number" || typeof value === "bigint" || isRawNumber(value)) return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value === "object") {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${members.map(([name, member]) => `${name}:${goText(member)}`).join(" ")}]`;
  }
  return String(value as string | boolean); // JSON has nothing else left
}

/** Go's `%v` of single values; lists and objects as the JSON that Go writes. */
export const goTextOrJson = (value: unknown): string =>
  typeof value === "object" && value !== null && !isRawNumber(value) ? goJson(value) : goText(value);

/** Name of the Go type of a decoded value. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
    case "bigint":
      return isWhole(value) ? "int64" : "float64";
    default:
      return isRawNumber(value) ? (isWhole(value.rawJSON) ? "int64" : "float64") : "map[string]interface {}";
  }
}

/** Numbers, and literals of numbers. */
function isWhole(value: number | bigint | string): boolean {
  if (typeof value === "number") return Number.isInteger(value);
  return (
    typeof value === "bigint" || (/^-?[0-9]{1,19}$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value))
  );
}
