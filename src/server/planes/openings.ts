/** Lets a few planes be opened at a time; the others wait, each at most once. */

/** The number of planes that are opened at the same time. */
const openingMax = 4;

export class Openings {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when a plane may be opened, with the function to call afterwards. */
  async turn(): Promise<() => void> {
    if (this.#running < openingMax) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    };
  }
}
