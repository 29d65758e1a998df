/**
 * Cooperative scheduling of long work on the event loop. The work asks its `Pace` between two pieces and pauses when a
 * pause is due. In each turn of the loop only one long job continues, so that many together delay other requests no
 * longer than one.
 */

import type { Clock } from "./clock.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** How long a piece of long work may last before others have a turn. */
const pieceMs = 4;

// One queue, since a process has one event loop.
const waiting: (() => void)[] = [];

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** Resolves when everybody else had a turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}

/** Work in pieces: it yields a promise that it waits for, or `undefined` where others may have a turn. */
export type Pieces<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** Runs the pieces; others have a turn between them. Done at once if there is only one. */
export function inTurns<T>(pieces: Pieces<T>): MaybePromise<T> {
  const first = pieces.next();
  return first.done === true ? first.value : goOnWith(pieces, first.value);
}

async function goOnWith<T>(pieces: Pieces<T>, first: Promise<unknown> | undefined): Promise<T> {
  let next = pieces.next(await (first ?? turn()));
  while (next.done !== true) next = pieces.next(await (next.value ?? turn()));
  return next.value;
}

/** Runs pieces that wait for nothing, without pauses. */
export function atOnce<T>(pieces: Pieces<T>): T {
  let next = pieces.next();
  while (next.done !== true) next = pieces.next();
  return next.value;
}

/** Others have a turn after so many items of a list. */
const itemsPerTurn = 64;

/** Returns what `map` makes of each; others have a turn now and then. */
export async function mapInTurns<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const made: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % itemsPerTurn === 0) await turn();
    made.push(map(item, index));
  }
  return made;
}

/** When long work should pause. */
export class Pace {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Whether others have waited long enough: then `await pause()`. */
  get isDue(): boolean {
    return this.#clock.monotonic() - this.#since >= pieceMs;
  }

  async pause(): Promise<void> {
    await turn();
    this.#since = this.#clock.monotonic();
  }
}
