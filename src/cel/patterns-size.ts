/** How large the regular expressions of an expression are; asked before it is known whether there is anything to compile. */
import { expandedSize } from "#schema/structural.ts";

/** What a call with a regular expression, and one without regard to case or with classes of Unicode, weighs beside others. */
const patternBase = 70;
const classFactor = 5;

/**
 * About how many instructions the regular expressions in a source may have, by what compiling them takes. The text around
 * them is counted too: it only has to be an upper bound.
 */
export function patternsSize(source: string): number {
  const calls = source.match(/\b(?:matches|find|findAll)\s*\(/g)?.length ?? 0;
  if (calls === 0) return 0;
  return expandedSize(source) * (/\\[pP]|\(\?\w*i/.test(source) ? classFactor : 1) + patternBase * calls;
}
