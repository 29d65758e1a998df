/**
 * A pool of unique numbers that counts the holders of each. A number may have several holders: stored objects may
 * repeat one, and an object and its pending write share one.
 */
import type { Random } from "./random.ts";

export class NumberPool {
  readonly size: number;
  /** The first numbers, given out on request and when there are no others. */
  readonly #lowest: number;
  readonly #holders = new Map<number, number>();

  /** Numbers from 0 to `size` - 1; the first `lowest` are given out only on request. */
  constructor(size: number, lowest: number) {
    this.size = size;
    this.#lowest = Math.min(lowest, size);
  }

  isHeld(number: number): boolean {
    return this.#holders.has(number);
  }

  hold(number: number): void {
    this.#holders.set(number, (this.#holders.get(number) ?? 0) + 1);
  }

  release(number: number): void {
    const holders = this.#holders.get(number) ?? 0;
    if (holders > 1) this.#holders.set(number, holders - 1);
    else this.#holders.delete(number);
  }

  /** Takes a random free number, which the caller then holds; `undefined` when none is free. */
  take(random: Random): number | undefined {
    const number =
      this.#holders.size >= this.size
        ? undefined
        : (this.#freeIn(this.#lowest, this.size, random) ?? this.#freeIn(0, this.#lowest, random));
    if (number !== undefined) this.hold(number);
    return number;
  }

  #freeIn(from: number, end: number, random: Random): number | undefined {
    const count = end - from;
    const start = Math.floor(random.next() * count);
    for (let i = 0; i < count; i++) {
      const number = from + ((start + i) % count);
      if (!this.#holders.has(number)) return number;
    }
    return undefined;
  }
}
