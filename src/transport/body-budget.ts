/**
 * A memory budget for request bodies that are being received. Only large bodies count; the number of small ones is
 * bounded elsewhere. One user gets half of it at most, so that one user's slow bodies leave room for others.
 */
import { tooManyRequests } from "#meta/status-error.ts";
import { largeBytes } from "#http/large-requests.ts";

/** The budget in bytes for the large bodies of all requests. */
const bytesMax = 256 * 1024 * 1024;

export class BodyBudget {
  readonly #max: number;
  #used = 0;
  readonly #users = new Map<string, number>();

  constructor(max = bytesMax) {
    this.#max = max;
  }

  /** Returns the share of one request. */
  open(user: string): BodyShare {
    return new BodyShare(this, user);
  }

  /** Reserves bytes. Throws `tooManyRequests` when the budget is used up. */
  take(user: string, bytes: number): void {
    const own = (this.#users.get(user) ?? 0) + bytes;
    if (this.#used + bytes > this.#max || own > this.#max / 2) {
      throw tooManyRequests("too many large request bodies are under way, please try again later", 1);
    }
    this.#used += bytes;
    this.#users.set(user, own);
  }

  give(user: string, bytes: number): void {
    if (bytes === 0) return;
    this.#used -= bytes;
    const own = this.#users.get(user)! - bytes; // it was taken
    if (own > 0) this.#users.set(user, own);
    else this.#users.delete(user);
  }
}

export class BodyShare {
  readonly #budget: BodyBudget;
  readonly #user: string;
  #taken = 0;

  constructor(budget: BodyBudget, user: string) {
    this.#budget = budget;
    this.#user = user;
  }

  /** Reserves bytes for a body that has grown to `length`. Throws when the budget is used up. */
  grow(length: number): void {
    if (length <= largeBytes || length <= this.#taken) return;
    this.#budget.take(this.#user, length - this.#taken);
    this.#taken = length;
  }

  /** Frees the share: the body is not needed any more. */
  end(): void {
    this.#budget.give(this.#user, this.#taken);
    this.#taken = 0;
  }
}
