/** A bound on what a small input may grow to: whoever adds takes from it, and is refused when nothing is left. */

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
