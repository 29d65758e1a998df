/**
 * The weight of expressions for the size of a request (`Strategy.weight`): a kilobyte of them can take as long to check
 * as 64 kilobytes of plain fields. Definitions and policies with many expressions are checked in a thread.
 */
import { patternsSize } from "#cel/patterns-size.ts";
import { compiledSize } from "#schema/structural.ts";

const bytesPerCharacter = 64;
const bytesPerInstruction = 16;

/** The weight of expressions that are evaluated during the check, however short they are. */
export const evaluationWeight = Number.POSITIVE_INFINITY;

/**
 * Returns the weight of all expressions of an object; absent expressions have none. An expression counts by its number
 * of characters, or by the number of instructions of its regular expressions if this is larger.
 */
export function expressionWeight(expressions: Iterable<string | undefined>): number {
  let length = 0;
  for (const expression of expressions) {
    if (expression !== undefined) length += Math.max(expression.length, patternsSize(expression));
  }
  return length * bytesPerCharacter;
}

/** Returns the weight of the patterns of a schema, which are compiled to be checked. */
export function patternsWeight(patterns: Iterable<string>): number {
  let size = 0;
  for (const pattern of patterns) size += compiledSize(pattern);
  return size * bytesPerInstruction;
}
