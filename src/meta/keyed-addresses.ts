/** A pool of the addresses of a range, each held by keys: a key holds one, and is given one that no other key holds. */
import { NumberPool } from "#std/number-pool.ts";
import { type IpRange, parseIpRange } from "./ip-range.ts";

export class KeyedAddresses {
  readonly #range: IpRange;
  /** The number of addresses that are given: all but the first and the last one. */
  readonly #count: number;
  readonly #pool: NumberPool;
  readonly #numbers = new Map<string, number>();
  #last = 0;

  /** `text` is the range, such as `203.0.113.0/24`. */
  constructor(text: string) {
    const range = parseIpRange(text);
    if (range === undefined) throw new TypeError(`no range of addresses: ${text}`);
    this.#range = range;
    this.#count = Number(range.size) - 2;
    this.#pool = new NumberPool(Number(range.size), 0);
  }

  /** Notes that a key holds an address, which others may hold as well, in place of an earlier one. */
  set(key: string, address: string): void {
    this.delete(key);
    const index = this.#range.indexOf(address);
    if (index !== undefined) this.#take(key, Number(index));
  }

  delete(key: string): void {
    const number = this.#numbers.get(key);
    if (number === undefined) return;
    this.#pool.release(number);
    this.#numbers.delete(key);
  }

  /** Returns the address of a key, or gives it the next free one; `undefined` when there is none. */
  give(key: string): string | undefined {
    for (let tries = 0; tries < this.#count && !this.#numbers.has(key); tries++) {
      this.#last = (this.#last % this.#count) + 1;
      if (!this.#pool.isReserved(this.#last)) this.#take(key, this.#last);
    }
    const number = this.#numbers.get(key);
    return number === undefined ? undefined : this.#range.addressAt(BigInt(number));
  }

  #take(key: string, number: number): void {
    this.#pool.reserve(number);
    this.#numbers.set(key, number);
  }
}
