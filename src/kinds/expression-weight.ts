/**
 * The weight of expressions for the size of a request (`Strategy.weight`): a kilobyte of them can take as long to check
 * as 64 kilobytes of plain fields. Definitions and policies with many expressions are checked in a thread.
 */

const bytesPerCharacter = 64;

/** Of expressions that are not only checked but evaluated, however short they are. */
export const evaluationWeight = Number.POSITIVE_INFINITY;

/** Of all the expressions of an object; absent ones weigh nothing. */
export function expressionWeight(expressions: Iterable<string | undefined>): number {
  let length = 0;
  for (const expression of expressions) length += expression?.length ?? 0;
  return length * bytesPerCharacter;
}
