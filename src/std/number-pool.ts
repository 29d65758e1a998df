/**
 * A pool of unique numbers that counts the reservations of each number. A number may have several: stored objects may
 * repeat it, and an object and its pending write share it.
 */
import type { Random } from "./random.ts";

export class NumberPool {
  readonly size: number;
  /** The count of the first numbers, which `reserveAny` uses only when no other number is free. */
  readonly #lowest: number;
  readonly #reservations = new Map<number, number>();

  /** A pool of the numbers from 0 to `size` - 1. The first `lowest` are used last. */
  constructor(size: number, lowest: number) {
    this.size = size;
    this.#lowest = Math.min(lowest, size);
  }

  isReserved(number: number): boolean {
    return this.#reservations.has(number);
  }

  reserve(number: number): void {
    this.#reservations.set(number, (this.#reservations.get(number) ?? 0) + 1);
  }

  release(number: number): void {
    const count = this.#reservations.get(number) ?? 0;
    if (count > 1) this.#reservations.set(number, count - 1);
    else this.#reservations.delete(number);
  }

  /** Reserves a random free number; `undefined` when none is free. */
  reserveAny(random: Random): number | undefined {
    const number =
      this.#reservations.size >= this.size
        ? undefined
        : (this.#freeIn(this.#lowest, this.size, random) ?? this.#freeIn(0, this.#lowest, random));
    if (number !== undefined) this.reserve(number);
    return number;
  }

  #freeIn(from: number, end: number, random: Random): number | undefined {
    const count = end - from;
    const start = Math.floor(random.next() * count);
    for (let i = 0; i < count; i++) {
      const number = from + ((start + i) % count);
      if (!this.#reservations.has(number)) return number;
    }
    return undefined;
  }
}
