/** Lets tasks that share a name run one after the other, in the order in which they came. */
export class WriteOrder {
  /** The end of the last task of each name. */
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs a task when all earlier tasks with one of its names, or with one of the names of `others`, have ended. Later
   * tasks wait for its own names only.
   */
  run<T>(names: readonly string[], task: () => Promise<T>, others: readonly string[] = []): Promise<T> {
    const before = [...names, ...others].flatMap((name) => this.#last.get(name) ?? []);
    const running = before.length === 0 ? task() : Promise.allSettled(before).then(task);
    for (const name of names) this.#last.set(name, running);
    const end = (): void => {
      for (const name of names) if (this.#last.get(name) === running) this.#last.delete(name);
    };
    running.then(end, end);
    return running;
  }

  /** Resolves when all tasks have ended. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
