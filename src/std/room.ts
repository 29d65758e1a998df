/** A budget for the output of a small input: additions take from it, and fail when it is empty. */

export class Room {
  #left: number;
  readonly #refuse: () => Error;

  /** `refuse` makes what is thrown when more than `bytes` are taken in all. */
  constructor(bytes: number, refuse: () => Error) {
    this.#left = bytes;
    this.#refuse = refuse;
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw this.#refuse();
  }
}
