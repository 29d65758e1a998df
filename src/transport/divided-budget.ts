/**
 * An amount that requests share. One user gets half of it at most, so that there is some left for others. All users of a
 * plane together get half of it, and each of them half of that.
 */
import { Tally } from "#std/tally.ts";
import type { Owner } from "./owner.ts";

export class DividedBudget {
  readonly #max: number;
  #used = 0;
  /** The amounts of each user, by its account, and of each plane. */
  readonly #users = new Tally();
  readonly #planes = new Tally();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes an amount; returns false when there is no room for it. */
  take({ account, plane }: Owner, amount: number): boolean {
    const ownMax = plane === "" ? this.#max / 2 : this.#max / 4;
    const own = this.#users.of(account) + amount;
    const ofPlane = plane === "" ? 0 : this.#planes.of(plane) + amount;
    if (this.#used + amount > this.#max || own > ownMax || ofPlane > this.#max / 2) return false;
    this.#add({ account, plane }, amount);
    return true;
  }

  give(owner: Owner, amount: number): void {
    this.#add(owner, -amount);
  }

  #add({ account, plane }: Owner, amount: number): void {
    this.#used += amount;
    this.#users.add(account, amount);
    if (plane !== "") this.#planes.add(plane, amount);
  }
}
