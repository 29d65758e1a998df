/**
 * A memory budget for request bodies that are being received. Only large bodies count; the number of small ones is
 * bounded elsewhere. One user gets half of it at most, so that one user's slow bodies leave room for others. All users of
 * a plane together get half of it, and each of them half of that.
 */
import { accountOf } from "./account.ts";
import { tooManyRequests } from "#meta/status-error.ts";
import { largeBytes } from "#http/large-requests.ts";

/** The budget in bytes for the large bodies of all requests. */
const bytesMax = 256 * 1024 * 1024;

export class BodyBudget {
  readonly #max: number;
  #used = 0;
  /** The bytes of each user, by its account, and of each plane. */
  readonly #users = new Map<string, number>();
  readonly #planes = new Map<string, number>();

  constructor(max = bytesMax) {
    this.#max = max;
  }

  /** Returns the share of one request. `plane` names the plane of the user; it is empty outside of planes. */
  open(user: string, plane: string): BodyShare {
    return new BodyShare(this, { account: accountOf(user, plane), plane });
  }

  /** Reserves bytes. Throws `tooManyRequests` when the budget is used up. */
  take({ account, plane }: Owner, bytes: number): void {
    const ownMax = plane === "" ? this.#max / 2 : this.#max / 4;
    const own = (this.#users.get(account) ?? 0) + bytes;
    const ofPlane = plane === "" ? 0 : (this.#planes.get(plane) ?? 0) + bytes;
    if (this.#used + bytes > this.#max || own > ownMax || ofPlane > this.#max / 2) {
      throw tooManyRequests("too many large request bodies are under way, please try again later", 1);
    }
    this.#used += bytes;
    this.#users.set(account, own);
    if (plane !== "") this.#planes.set(plane, ofPlane);
  }

  give({ account, plane }: Owner, bytes: number): void {
    if (bytes === 0) return;
    this.#used -= bytes;
    lessen(this.#users, account, bytes);
    if (plane !== "") lessen(this.#planes, plane, bytes);
  }
}

/** The user whose body a share is for, and the plane of that user; empty outside of planes. */
interface Owner {
  readonly account: string;
  readonly plane: string;
}

function lessen(counts: Map<string, number>, key: string, bytes: number): void {
  const rest = counts.get(key)! - bytes; // it was taken
  if (rest > 0) counts.set(key, rest);
  else counts.delete(key);
}

export class BodyShare {
  readonly #budget: BodyBudget;
  readonly #owner: Owner;
  #taken = 0;

  constructor(budget: BodyBudget, owner: Owner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Reserves bytes for a body that has grown to `length`. Throws when the budget is used up. */
  grow(length: number): void {
    if (length <= largeBytes || length <= this.#taken) return;
    this.#budget.take(this.#owner, length - this.#taken);
    this.#taken = length;
  }

  /** Frees the share: the body is not needed any more. */
  end(): void {
    this.#budget.give(this.#owner, this.#taken);
    this.#taken = 0;
  }
}
