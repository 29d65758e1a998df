/**
 * A value that is there already, or comes later. Steps on the hot path pass on what is there without a promise: a GET
 * that waits for nothing runs from its first byte to its last in one turn, and leaves nothing behind for the collector.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with the value: at once when it is there. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
