/** A bound of calls at a time. Those that wait come in their order. */

export class Turns {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(countMax: number) {
    this.#free = countMax;
  }

  /** Resolves when it is the caller's turn, which it ends with `end`. Rejects with the reason of an aborted signal. */
  take(signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    if (signal.aborted) return Promise.reject(signal.reason as Error); // what the caller aborted with
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
      const abort = (): void => {
        this.#waiting.delete(start);
        reject(signal.reason as Error); // what the caller aborted with
      };
      this.#waiting.add(start);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
