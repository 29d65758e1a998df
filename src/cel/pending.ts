/**
 * Evaluations do not wait. One that has to, for an answer of the authorizer or for others to have a turn, is thrown away, and
 * made again when what it waited for is there. The end is thrown, as that of a budget: an error as a value could be taken
 * in by `||`, and a wrong result be the answer.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";

/** Thrown out of an evaluation, which is to be made again after `ready`. */
export class Pending extends Error {
  readonly ready: Promise<unknown>;
  /** The units of cost and work that were thrown away. */
  spent = 0;

  constructor(ready: Promise<unknown>) {
    super("the evaluation has to wait");
    this.ready = ready;
  }
}

/** Returns what `evaluate` does. Where it has to wait, returns a promise, and evaluates again when the answer is there. */
export function runUntilAnswered<Result>(evaluate: () => Result): MaybePromise<Result> {
  try {
    return evaluate();
  } catch (error) {
    if (!(error instanceof Pending)) throw error;
    return error.ready.then(() => runUntilAnswered(evaluate));
  }
}
