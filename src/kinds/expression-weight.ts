/**
 * The weight of expressions for the size of a request (`Strategy.weight`): a kilobyte of them can take as long to check
 * as 64 kilobytes of plain fields. Definitions and policies with many expressions are checked in a thread.
 */
import { patternsSize } from "#cel/patterns-size.ts";
import { expandedSize, readingSize } from "#schema/structural.ts";

const bytesPerCharacter = 64;
const bytesPerInstruction = 16;

/** Of expressions that are not only checked but evaluated, however short they are. */
export const evaluationWeight = Number.POSITIVE_INFINITY;

/** Of all the expressions of an object; absent ones weigh nothing. An instruction of a regular expression is a character. */
export function expressionWeight(expressions: Iterable<string | undefined>): number {
  let length = 0;
  for (const expression of expressions) {
    if (expression !== undefined) length += Math.max(expression.length, patternsSize(expression));
  }
  return length * bytesPerCharacter;
}

/** Of the patterns of a schema, which are compiled to be checked. */
export function patternsWeight(patterns: Iterable<string>): number {
  let size = 0;
  for (const pattern of patterns) size += expandedSize(pattern) + readingSize(pattern);
  return size * bytesPerInstruction;
}
