/**
 * Numbers of a JSON text that a JavaScript number would change (`9007199254740993`, `1.0`, `1e400`). `decodeJson` keeps
 * them as `JSON.rawJSON` objects, which `JSON.stringify` writes unchanged.
 */

export interface RawNumber {
  /** The literal of the number. */
  readonly rawJSON: string;
}

/** The part of ECMAScript's JSON source text access that is used; the standard library types lack it. */
interface RawJson {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): boolean;
}

const json = JSON as unknown as RawJson; // both are there in every Node version this package runs on

/** `literal` must be a JSON number. */
export const rawNumber = (literal: string): RawNumber => json.rawJSON(literal);

export function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === "object" && value !== null && json.isRawJSON(value);
}
