/** Estimates the size of the regular expressions in an expression. Callers use it before they parse the expression. */
import { expandedSize, readingSize } from "#schema/structural.ts";

/**
 * The estimated size of a call with a regular expression, beside its text. `classFactor` is the factor for patterns
 * that ignore case or have Unicode classes.
 */
const patternBase = 70;
const classFactor = 5;

/**
 * Estimates the number of instructions of the regular expressions in a source, by the work of compiling them. The text
 * around them is counted too, since the result only has to be an upper bound.
 */
export function patternsSize(source: string): number {
  const calls = source.match(/\b(?:matches|find|findAll)\s*\(/g)?.length ?? 0;
  if (calls === 0) return 0;
  const text = source.replace(escape, unescapeCharacter);
  const factor = /\\[pP]|\(\?\w*i/.test(text) ? classFactor : 1;
  return expandedSize(source) * factor + readingSize(text) + patternBase * calls;
}

/** Matches a character of a string literal that is written by its code or after a backslash. */
const escape = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|\\)/g;

function unescapeCharacter(escaped: string, ...[byte, short, long, octal]: (string | undefined)[]): string {
  const hex = byte ?? short ?? long;
  const code =
    hex !== undefined ? Number.parseInt(hex, 16) : octal !== undefined ? Number.parseInt(octal, 8) : undefined;
  if (code === undefined) return escaped.slice(1);
  return code > 0x10ffff ? escaped : String.fromCodePoint(code);
}
