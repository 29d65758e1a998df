/**
 * Cooperative scheduling of long work on the event loop. The work asks its `Yielder` between two pieces and pauses when a
 * pause is due. In each turn of the loop only one long job continues, so that many together delay other requests no
 * longer than one.
 */
import type { Clock } from "./clock.ts";
import { isLate, type MaybePromise } from "./maybe-promise.ts";

/** The maximum time in milliseconds that long work lasts before other work has a turn. */
const pieceMs = 4;

// One queue for all, since a process has one event loop.
const waiting: (() => void)[] = [];

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** Resolves when all other work has had a turn. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}

/**
 * Work in steps. A step yields a promise, whose value the next step receives (`const value = (yield promise) as T`), or
 * `undefined` to give other work a turn.
 */
export type Steps<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** Waits for a value in steps: `const pod = yield* awaited(read)`. */
export function* awaited<T>(value: MaybePromise<T>): Steps<T> {
  return isLate(value) ? ((yield value) as T) : value; // the runner gives the value of what was yielded
}

/** Runs the steps without a pause, except to wait for promises and where a step gives other work a turn. */
export function runCooperatively<T>(steps: Steps<T>): MaybePromise<T> {
  const first = steps.next();
  return first.done === true ? first.value : continueSteps(steps, first.value);
}

async function continueSteps<T>(steps: Steps<T>, first: Promise<unknown> | undefined): Promise<T> {
  let waitsFor = first;
  for (;;) {
    let result: IteratorResult<Promise<unknown> | undefined, T>;
    try {
      result = steps.next(await (waitsFor ?? yieldToEventLoop()));
    } catch (error) {
      // Steps that threw this error themselves are finished, and throw it again.
      result = steps.throw(error);
    }
    if (result.done === true) return result.value;
    waitsFor = result.value;
  }
}

/** Runs steps that yield no promise, without pauses. */
export function runToEnd<T>(steps: Steps<T>): T {
  let next = steps.next();
  while (next.done !== true) next = steps.next();
  return next.value;
}

/** The number of items of a list after which other work has a turn. */
const itemsPerTurn = 64;

/** Returns the result of `map` for each item; other work has a turn from time to time. */
export async function mapCooperatively<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % itemsPerTurn === 0) await yieldToEventLoop();
    results.push(map(item, index));
  }
  return results;
}

/** Tells long work when it should pause. */
export class Yielder {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Whether other work has waited long enough, so that `await pause()` is due. */
  get isDue(): boolean {
    return this.#clock.monotonic() - this.#since >= pieceMs;
  }

  async pause(): Promise<void> {
    await yieldToEventLoop();
    this.#since = this.#clock.monotonic();
  }
}
