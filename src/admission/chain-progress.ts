/**
 * Times of the admission chain: of a step, which is one run of all its plugins, and of each plugin in it. Reading the
 * clock takes longer than most plugins, so of the runs that answer at once only some are timed.
 */

export type StepType = "admit" | "validate";

/** Learns the times of one step. All times are in milliseconds; they are absent where nothing was measured. */
export interface StepObserver {
  /** Returns the time of a clock that never goes back. */
  now(): number;
  /** Whether the next run is a sample, whose plugins are timed one by one. */
  isSample(): boolean;
  /** All plugins have answered at once. */
  allPassed(): void;
  /** One plugin has answered at once; `ms` is given in samples. */
  passed(plugin: number, ms?: number): void;
  /** One plugin has answered late, or refused the request. */
  ended(plugin: number, isRefused: boolean, ms?: number): void;
  stepEnded(isRefused: boolean, isSample: boolean, ms?: number): void;
}

/** The progress of one run. The plugins are counted from 0. */
export class RunProgress {
  /** The plugin that runs. */
  at = 0;
  readonly #observer: StepObserver;
  readonly #isSample: boolean;
  #startMs: number | undefined;
  /** The first plugin that the observer has not heard of. */
  #first = 0;
  /** When that plugin began; absent in runs that are no samples and have not waited. */
  #markMs: number | undefined;
  #isOneRound = true;

  constructor(observer: StepObserver) {
    this.#observer = observer;
    this.#isSample = observer.isSample();
    if (this.#isSample) this.#startMs = this.#markMs = observer.now();
  }

  /** The plugin that runs has answered at once. */
  passed(): void {
    if (this.#isSample) this.#observer.passed(this.at, this.#next());
  }

  /** The plugin that runs makes the request wait. */
  waits(): void {
    this.#startMs ??= this.#observer.now();
    this.#markMs ??= this.#startMs;
  }

  /** The plugin that runs has answered late, or refused the request. */
  ended(isRefused: boolean): void {
    this.#flush(this.at);
    const ms = this.#next();
    this.#observer.ended(this.at, isRefused, ms);
  }

  /** All `count` plugins have answered, and run once more. */
  again(count: number): void {
    this.#flush(count);
    this.#first = 0;
    this.#isOneRound = false;
  }

  /** All `count` plugins have answered. */
  finished(count: number): void {
    if (this.#first === 0 && this.#isOneRound) this.#observer.allPassed();
    else this.#flush(count);
    this.#stepEnded(false);
  }

  refused(): void {
    this.ended(true);
    this.#stepEnded(true);
  }

  #stepEnded(isRefused: boolean): void {
    const ms = this.#startMs === undefined ? undefined : this.#observer.now() - this.#startMs;
    this.#observer.stepEnded(isRefused, this.#isSample, ms);
  }

  /** Returns the time of the plugin that has answered, if it is known. */
  #next(): number | undefined {
    this.#first = this.at + 1;
    if (this.#markMs === undefined) return undefined;
    const nowMs = this.#observer.now();
    const ms = nowMs - this.#markMs;
    this.#markMs = nowMs;
    return ms;
  }

  /** Tells of the plugins before this one, which answered at once. */
  #flush(end: number): void {
    for (let plugin = this.#first; plugin < end; plugin++) this.#observer.passed(plugin);
    this.#first = end;
  }
}
