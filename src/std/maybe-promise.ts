/**
 * A value that is available now or later. Hot paths pass available values without a promise: a GET from memory runs in
 * one turn of the event loop and leaves no promises to the garbage collector.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Continues with the value: at once when it is available. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * Runs steps that yield promises and are given their values: at once as far as no value has to be waited for. A step that
 * yields is `const value = (yield promise) as T`.
 */
export function drive<T>(steps: Generator<Promise<unknown>, T, unknown>): MaybePromise<T> {
  const first = steps.next();
  return first.done === true ? first.value : driveOn(steps, first.value);
}

async function driveOn<T>(steps: Generator<Promise<unknown>, T, unknown>, waiting: Promise<unknown>): Promise<T> {
  let next = waiting;
  for (;;) {
    let value: unknown;
    let result: IteratorResult<Promise<unknown>, T>;
    try {
      value = await next;
    } catch (error) {
      result = steps.throw(error);
      if (result.done === true) return result.value;
      next = result.value;
      continue;
    }
    result = steps.next(value);
    if (result.done === true) return result.value;
    next = result.value;
  }
}
