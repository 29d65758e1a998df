/** One run of a slow work serves all who ask for it meanwhile. */
import { unlessAborted } from "#std/abort.ts";

interface Run<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

export class SharedRun<T> {
  readonly #work: (signal: AbortSignal) => Promise<T>;
  #run: Run<T> | undefined;

  /** The signal of `work` is aborted when nobody waits for it any more. */
  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /** Resolves with the result of the present run, or of a new one. An aborted signal ends the waiting of this caller. */
  async join(signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const run = (this.#run ??= this.#start());
    run.waiting++;
    try {
      return await unlessAborted(run.result, signal);
    } finally {
      if (--run.waiting === 0) {
        if (this.#run === run) this.#run = undefined;
        run.abort.abort();
      }
    }
  }

  #start(): Run<T> {
    const abort = new AbortController();
    const result = this.#work(abort.signal);
    // Without a caller that waits, nobody would handle the failure.
    result.catch(() => undefined);
    return { result, abort, waiting: 0 };
  }
}
