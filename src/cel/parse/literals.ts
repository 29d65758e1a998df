/** Computes the values of literals. */
import { Double, type Scalar, Uint } from "../values.ts";
import { bytesValue, stringValue } from "./strings.ts";
import { type TokenKind, kinds } from "./tokens.ts";

const int64Max = 2n ** 63n - 1n;
const uint64Max = 2n ** 64n - 1n;

/** Returns the value of a literal; a problem if it has none. The text of a number includes its sign. */
export function literalValue(kind: TokenKind, text: string): { readonly value: Scalar } | { readonly problem: string } {
  switch (kind) {
    case kinds.true:
    case kinds.false:
      return { value: kind === kinds.true };
    case kinds.null:
      return { value: null };
    case kinds.int:
      return intValue(text);
    case kinds.uint: {
      const value = BigInt(text.slice(0, -1));
      return value > uint64Max ? { problem: "invalid uint literal" } : { value: new Uint(value) };
    }
    case kinds.double: {
      const value = Number(text);
      return Number.isFinite(value) ? { value: new Double(value) } : { problem: "invalid double literal" };
    }
    case kinds.string: {
      const value = stringValue(text);
      return value === undefined ? { problem: "unable to unescape string" } : { value };
    }
    default: {
      const value = bytesValue(text);
      return value === undefined ? { problem: "unable to unescape string" } : { value };
    }
  }
}

function intValue(text: string): { readonly value: Scalar } | { readonly problem: string } {
  // Adding 0 turns -0 into 0, since zero has no sign.
  if (text.length < 16 && !text.includes("x")) return { value: Number(text) + 0 };
  const isNegative = text.startsWith("-");
  const magnitude = BigInt(isNegative ? text.slice(1) : text);
  const value = isNegative ? -magnitude : magnitude;
  if (value > int64Max || value < -int64Max - 1n) return { problem: "invalid int literal" };
  return { value: Number.isSafeInteger(Number(value)) ? Number(value) : value };
}
