/**
 * Estimates the cost of the next evaluation of an expression by that of earlier ones, so that others have a turn before
 * a long evaluation.
 */

/** The factor by which an expectation falls with each evaluation. */
const decay = 0.9;

/**
 * Returns the expected cost after an evaluation that cost `cost`. It falls slowly, so that cheap evaluations do not
 * hide expensive ones between them.
 */
export const expectedAfter = (cost: number, expected = 0): number => Math.max(cost, expected * decay);
