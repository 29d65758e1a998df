/** Parses JSON without a loss: whole numbers that JavaScript cannot represent are raw. */
import { rawNumber } from "#std/raw-number.ts";

/** The part of ECMAScript's JSON source text access that is used; the standard library types lack it. */
type ExactJson = {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
};

/** Matches texts that may have a number beyond 2^53. */
const longNumber = /[0-9]{16}/;

/** Returns the value of a text. Throws `SyntaxError`. */
export function parseExactJson(text: string): unknown {
  return longNumber.test(text) ? (JSON as ExactJson).parse(text, exact) : JSON.parse(text);
}

function exact(_key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown {
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isRounded ? rawNumber(source) : value;
}
