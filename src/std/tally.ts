/** Amounts by key, such as the connections of each user. A key whose amount is 0 takes no room. */
export class Tally {
  readonly #amounts = new Map<string, number>();

  of(key: string): number {
    return this.#amounts.get(key) ?? 0;
  }

  /** Changes an amount, which may not become negative. */
  add(key: string, change: number): void {
    const amount = this.of(key) + change;
    if (amount > 0) this.#amounts.set(key, amount);
    else this.#amounts.delete(key);
  }

  /** The number of keys with an amount. */
  get size(): number {
    return this.#amounts.size;
  }
}
