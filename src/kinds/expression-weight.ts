/**
 * The weight of expressions for the size of a request (`Strategy.weight`): a kilobyte of them can take as long to check
 * as 64 kilobytes of plain fields. Definitions and policies with many expressions are checked in a thread.
 */
import { patternsSize } from "#cel/patterns-size.ts";
import { compiledSize } from "#schema/structural.ts";

const bytesPerCharacter = 64;
const bytesPerInstruction = 16;

/** Expressions that are not only checked but evaluated weigh so much, however short they are. */
export const evaluationWeight = Number.POSITIVE_INFINITY;

/** The weight of all expressions of an object; absent ones have none. Instructions of regular expressions are characters. */
export function expressionWeight(expressions: Iterable<string | undefined>): number {
  let length = 0;
  for (const expression of expressions) {
    if (expression !== undefined) length += Math.max(expression.length, patternsSize(expression));
  }
  return length * bytesPerCharacter;
}

/** The weight of the patterns of a schema, which are compiled to be checked. */
export function patternsWeight(patterns: Iterable<string>): number {
  let size = 0;
  for (const pattern of patterns) size += compiledSize(pattern);
  return size * bytesPerInstruction;
}
