/**
 * A memory budget for request bodies that are being received. Only large bodies count; the number of small ones is
 * bounded elsewhere.
 */
import { tooManyRequests } from "#meta/status-error.ts";
import { largeBytes } from "#http/large-requests.ts";
import { DividedBudget } from "./divided-budget.ts";
import { type Owner, ownerOf } from "./owner.ts";

/** The budget in bytes for the large bodies of all requests. */
const bytesMax = 256 * 1024 * 1024;

export class BodyBudget {
  readonly #budget: DividedBudget;

  constructor(max = bytesMax) {
    this.#budget = new DividedBudget(max);
  }

  /** Returns the share of one request. `plane` names the plane of the user; it is empty outside of planes. */
  open(user: string, plane: string): BodyShare {
    return new BodyShare(this.#budget, ownerOf(user, plane));
  }
}

export class BodyShare {
  readonly #budget: DividedBudget;
  readonly #owner: Owner;
  #taken = 0;

  constructor(budget: DividedBudget, owner: Owner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Reserves bytes for a body that has grown to `length`. Throws when the budget is used up. */
  grow(length: number): void {
    if (length <= largeBytes || length <= this.#taken) return;
    if (!this.#budget.take(this.#owner, length - this.#taken)) {
      throw tooManyRequests("too many large request bodies are under way, please try again later", 1);
    }
    this.#taken = length;
  }

  /** Frees the share: the body is not needed any more. */
  end(): void {
    this.#budget.give(this.#owner, this.#taken);
    this.#taken = 0;
  }
}
