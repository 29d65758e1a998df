/**
 * An amount that requests share. One user gets half of it at most, so that there is some left for others. All users of a
 * plane together get half of it, and each of them half of that.
 */
import { accountOf } from "./account.ts";

/** The user for whom something is taken, and its plane. */
export interface Owner {
  readonly account: string;
  /** The beginning of paths that names the plane; empty outside of planes. */
  readonly plane: string;
}

export const ownerOf = (user: string, plane: string): Owner => ({ account: accountOf(user, plane), plane });

export class DividedBudget {
  readonly #max: number;
  #used = 0;
  /** The amounts of each user, by its account, and of each plane. */
  readonly #users = new Map<string, number>();
  readonly #planes = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes an amount; returns false when there is no room for it. */
  take({ account, plane }: Owner, amount: number): boolean {
    const ownMax = plane === "" ? this.#max / 2 : this.#max / 4;
    const own = (this.#users.get(account) ?? 0) + amount;
    const ofPlane = plane === "" ? 0 : (this.#planes.get(plane) ?? 0) + amount;
    if (this.#used + amount > this.#max || own > ownMax || ofPlane > this.#max / 2) return false;
    this.#used += amount;
    this.#users.set(account, own);
    if (plane !== "") this.#planes.set(plane, ofPlane);
    return true;
  }

  give({ account, plane }: Owner, amount: number): void {
    if (amount === 0) return;
    this.#used -= amount;
    lessen(this.#users, account, amount);
    if (plane !== "") lessen(this.#planes, plane, amount);
  }
}

function lessen(amounts: Map<string, number>, key: string, amount: number): void {
  const rest = amounts.get(key)! - amount; // it was taken
  if (rest > 0) amounts.set(key, rest);
  else amounts.delete(key);
}
