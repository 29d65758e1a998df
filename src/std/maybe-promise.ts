/**
 * Values that are available now or later. Hot paths pass available values without a promise: a GET from memory runs in
 * one turn of the event loop and leaves no promises to the garbage collector.
 *
 * There is one way to wait for such a value in each situation:
 *
 * - An `async` function writes `await value`. A value that is there costs a microtask.
 * - Any other function writes `andThen(value, next)`, and `attempt(run, input, failed)` when it answers for failures.
 * - Steps (`cooperative.ts`) write `yield* awaited(value)`.
 * - Code asks `isLate(value)` when it goes on differently: it leaves its seats to others, remembers the promise, or runs
 *   a loop that is to stay synchronous while the answers are. So does code that runs for every request or item, when
 *   the other ways would make a closure or a microtask for nothing.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Whether a value is a promise. */
export function isLate<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise;
}

/** Continues with the value: at once when it is available. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isLate(value) ? value.then(next) : next(value);
}

/**
 * Calls `run` with the input, and `failed` with the error when `run` throws or its promise rejects. Both are given the
 * input, so that functions made once serve every call.
 */
export function attempt<I, T, F>(
  run: (input: I) => MaybePromise<T>,
  input: I,
  failed: (error: unknown, input: I) => MaybePromise<F>,
): MaybePromise<T | F> {
  try {
    const value = run(input);
    return isLate(value) ? value.catch((error: unknown) => failed(error, input)) : value;
  } catch (error) {
    return failed(error, input);
  }
}
