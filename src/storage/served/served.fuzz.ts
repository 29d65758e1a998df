/**
 * Processes that share a log under one seed: each writes, reads the present and gives numbers by turns, while lines are slow,
 * silent or cut, history is compacted and the owner is started again. What one process has shown, all others must show
 * from then on. `FUZZ_SEED` repeats a run, as far as threads and sockets do, `FUZZ_RUNS` sets the number of runs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "#std/clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { type Revision, StorageFailure, Unavailable } from "../log-store.ts";
import { waitUntil } from "../store.contract.ts";
import { toUnversioned } from "../versioned-value.ts";
import type { Encoded, Entry, WriteResult } from "../watch-cache.ts";
import { LogWatchCache } from "../watch-cache/log-watch-cache.ts";
import { Line } from "./line-for-tests.ts";
import { Processes } from "./served-for-tests.ts";

const runs = Number(process.env["FUZZ_RUNS"] ?? 5);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const stepsPerProcess = 150;
const otherProcesses = 3;

const pods = "/registry//pods/";
const numbers = "/registry//numbers/";

const encodedOf = (text: string): Encoded => ({ ...toUnversioned(text, "none"), decode: () => text });
const textOf = ({ value }: Pick<Entry, "value">): string => value.toString();

/** A process that does not own the log. */
interface Other {
  readonly line: Line;
  readonly cache: LogWatchCache;
}

class Run {
  readonly #random: Random;
  readonly #processes: Processes;
  readonly #others: Other[] = [];
  /** The last revision that any process has shown. */
  #shown: Revision = 0;
  /** The texts by revision, as writers and readers know them; `undefined` for a deletion. */
  readonly #texts = new Map<Revision, string | undefined>();
  /** The last acknowledged revision of each key. */
  readonly #acknowledged = new Map<string, Revision>();
  /** The texts of writes of which nobody knows whether they were done, and the keys of such deletions. */
  readonly #unknown = new Set<string>();
  #lastText = 0;
  #isOver = false;

  private constructor(seed: number, processes: Processes) {
    this.#random = seededRandom(seed);
    this.#processes = processes;
  }

  static async go(seed: number): Promise<void> {
    const processes = await Processes.start();
    const run = new Run(seed, processes);
    try {
      await run.#join();
      const work = [
        () => this.#owner(run),
        ...run.#others.map(
          ({ cache }) =>
            () =>
              cache,
        ),
      ];
      const faults = run.#faults();
      const outcomes = await Promise.allSettled(work.map((cache) => run.#work(cache)));
      run.#isOver = true;
      await faults;
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
      await run.#check();
    } finally {
      for (const { line } of run.#others) await line.close();
      for (const { cache } of run.#others) await cache.close();
      await processes.stop();
    }
  }

  static #owner(run: Run): LogWatchCache {
    return run.#processes.owner.store.cache;
  }

  async #join(): Promise<void> {
    for (let at = 0; at < otherProcesses; at++) {
      const line = await Line.open(this.#processes.folder, `line-${at}`);
      line.delays = { msMax: 2, random: this.#random };
      const log = await this.#processes.openLog({ folder: line.folder });
      const cache = await LogWatchCache.open(log, { clock: systemClock, historyBytesMax: 20_000, watchRestMsMax: 0 });
      this.#others.push({ line, cache });
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)]!;
  }

  async #work(cacheOf: () => LogWatchCache): Promise<void> {
    for (let step = 0; step < stepsPerProcess; step++) {
      const what = this.#random.next();
      const cache = cacheOf();
      try {
        if (what < 0.4) await this.#write(cache);
        else if (what < 0.5) await this.#giveNumber(cache);
        else await this.#read(cache);
      } catch (error) {
        // The owner is being started again, or the line is cut.
        if (!(error instanceof StorageFailure)) throw error;
        await sleep(2);
      }
    }
  }

  async #read(cache: LogWatchCache): Promise<void> {
    const before = this.#shown;
    await cache.fresh();
    assert.ok(cache.revision >= before, `a read shows ${cache.revision}, and ${before} was shown before it`);
    const entry = cache.get(`${pods}${this.#pick("abcdef".split(""))}`);
    if (entry !== undefined) this.#note(entry.revision, textOf(entry));
    this.#shown = Math.max(this.#shown, cache.revision);
  }

  async #write(cache: LogWatchCache): Promise<void> {
    const key = `${pods}${this.#pick("abcdef".split(""))}`;
    const current = cache.get(key);
    const isRemoval = current !== undefined && this.#random.next() < 0.2;
    const text = isRemoval
      ? undefined
      : `${++this.#lastText} ${"x".repeat(Math.floor(this.#random.next() ** 6 * 200_000))}`;
    await this.#commit(key, text, () =>
      text === undefined
        ? cache.remove(key, current!.revision)
        : cache.put(key, current?.revision ?? 0, encodedOf(text)),
    );
  }

  /** Gives the next free number to a new key, as an allocator does. */
  async #giveNumber(cache: LogWatchCache): Promise<void> {
    const seen = cache.revision;
    const taken = new Set(cache.range(numbers).entries.map(textOf));
    let number = 0;
    while (taken.has(String(number))) number++;
    await sleep(this.#random.next() * 3);
    const key = `${numbers}${++this.#lastText}`;
    await this.#commit(key, String(number), () =>
      cache.put(key, 0, encodedOf(String(number)), { turn: { name: "numbers", seen } }),
    );
  }

  async #commit(key: string, text: string | undefined, commit: () => Promise<WriteResult>): Promise<void> {
    const before = this.#shown;
    try {
      const result = await commit();
      if (!result.ok) return;
      const { revision } = result.entry;
      assert.ok(revision > before, `a write has revision ${revision}, and ${before} was shown before it`);
      this.#note(revision, text);
      this.#acknowledged.set(key, Math.max(revision, this.#acknowledged.get(key) ?? 0));
      this.#shown = Math.max(this.#shown, revision);
    } catch (error) {
      if (error instanceof StorageFailure && !(error instanceof Unavailable)) this.#unknown.add(text ?? key);
      throw error;
    }
  }

  #note(revision: Revision, text: string | undefined): void {
    assert.ok(!this.#texts.has(revision) || this.#texts.get(revision) === text, `${revision} is two writes`);
    this.#texts.set(revision, text);
  }

  async #faults(): Promise<void> {
    while (!this.#isOver) {
      await sleep(this.#random.next() * 60);
      const { line } = this.#pick(this.#others);
      const fault = this.#random.next();
      if (fault < 0.25) line.drop();
      else if (fault < 0.4) line.isCut = true;
      else if (fault < 0.55) line.stop("in");
      else if (fault < 0.7) line.stop("out");
      else if (fault < 0.85) await this.#compact();
      else await this.#restart();
      await sleep(this.#random.next() * 60);
      line.isCut = false;
      line.goOn();
    }
  }

  async #compact(): Promise<void> {
    const { cache } = this.#pick(this.#others);
    await cache.compact(cache.revision - Math.floor(this.#random.next() * 20)).catch((error: unknown) => {
      if (!(error instanceof StorageFailure)) throw error;
    });
  }

  async #restart(): Promise<void> {
    await this.#processes.owner.store.cache.close();
    await this.#processes.startOwner();
  }

  async #check(): Promise<void> {
    const owner = Run.#owner(this);
    for (const { cache } of this.#others) {
      await waitUntil(() => cache.revision === owner.revision);
      await cache.fresh();
      assert.deepEqual(cache.digest, owner.digest);
      assert.deepEqual(cache.range("/").entries.map(textOf), owner.range("/").entries.map(textOf));
    }
    for (const [key, revision] of this.#acknowledged) {
      const entry = owner.get(key);
      if (entry?.revision === revision) assert.equal(textOf(entry), this.#texts.get(revision));
      else if (this.#texts.get(revision) !== undefined || entry !== undefined) {
        // A later write is one of which nobody knows whether it was done.
        assert.ok(
          this.#unknown.has(entry === undefined ? key : textOf(entry)),
          `the write of ${key} at ${revision} is gone`,
        );
      }
    }
    const given = owner.range(numbers).entries.map(textOf);
    assert.equal(new Set(given).size, given.length, "a number is given once");
    assert.ok(given.length > 0);
  }
}

test(`processes that share a log show what others have shown (FUZZ_SEED=${firstSeed}, ${runs} runs)`, async () => {
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    try {
      await Run.go(seed);
    } catch (error) {
      throw new Error(`FUZZ_SEED=${seed} FUZZ_RUNS=1: ${(error as Error).message}`, { cause: error });
    }
  }
});
