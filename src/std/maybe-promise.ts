/**
 * A value that is available now or later. Hot paths pass available values without a promise: a GET from memory runs in
 * one turn of the event loop and leaves no promises to the garbage collector.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Continues with the value: at once when it is available. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
