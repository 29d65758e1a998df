/** Expects of the next evaluation of an expression what the last ones have cost, so that others have a turn before a long one. */

/** The part of the cost of one evaluation that is still expected of the next one. */
const decay = 0.9;

/** Returns the expectation after an evaluation that cost `cost`: cheap ones must not hide the costly ones between them. */
export const expectedAfter = (cost: number, expected = 0): number => Math.max(cost, expected * decay);
