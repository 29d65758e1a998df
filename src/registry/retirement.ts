/** The end of a way of serving something, told to whoever depends on it: watches end when their schema is replaced. */
export class Retirement {
  #listeners = new Set<() => void>();
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls `listener` once, at the end; at once when that is past. The result takes the listener back. */
  onEnd(listener: () => void): () => void {
    if (this.#isOver) listener();
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  end(): void {
    this.#isOver = true;
    const listeners = this.#listeners;
    this.#listeners = new Set();
    for (const listener of listeners) listener();
  }
}
