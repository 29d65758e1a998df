/**
 * Repeats evaluations that have to wait, since evaluations are synchronous. An evaluation that waits, for an answer of
 * the authorizer or so that others have a turn, is thrown away and repeated later. It ends with an exception: `||`
 * could ignore an error value, and the result would be wrong.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";

/** Thrown out of an evaluation that must be repeated after `ready`. */
export class Pending extends Error {
  readonly ready: Promise<unknown>;
  /** The units of cost and work that were thrown away. */
  spent = 0;

  constructor(ready: Promise<unknown>) {
    super("the evaluation has to wait");
    this.ready = ready;
  }
}

/**
 * Returns the result of `evaluate`. If the evaluation has to wait, returns a promise, and evaluates again when the wait
 * is over.
 */
export function runUntilAnswered<Result>(evaluate: () => Result): MaybePromise<Result> {
  try {
    return evaluate();
  } catch (error) {
    if (!(error instanceof Pending)) throw error;
    return error.ready.then(() => runUntilAnswered(evaluate));
  }
}
