/**
 * Compares ranges and watches that may use an index with those that look at every entry, under one seed: changes that
 * give an entry another value, entries that cannot be read, pages, old revisions, more functions than there are indexes,
 * watchers that pause. `FUZZ_SEED` replays a run, `FUZZ_RUNS` sets the number of runs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

import { isCompacted } from "../log-store.ts";
import { openMemoryStore } from "../memory.ts";
import { putText, Recorder, waitUntil } from "../store.contract.ts";
import type { Entry, IndexFunction, IndexMatch, Range, RangeOptions, StoreEvent, WatchCache } from "../watch-cache.ts";

const runs = Number(process.env["FUZZ_RUNS"] ?? 3);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const stepsPerRun = 2000;
const keysCount = 400;

const resource = "/registry/example.dev/claims/";
const prefixes = [resource, `${resource}a/`, `${resource}b/`];
const values = ["web", "db", "", "rare", "__proto__"];

/** An entry has one value for each of these; its text names them in turn. */
const functions = Array.from({ length: 40 }, (_, at) => functionAt(at));

function functionAt(at: number): IndexFunction {
  return {
    name: `label l${at}`,
    valueOf(entry) {
      const value = entry.value.toString().split("/")[at % 4]!;
      if (value === "broken") throw new Error("the entry cannot be read");
      return value === "none" ? undefined : value;
    },
  };
}

/** A watcher by an index, and one of the same events that looks at every entry. */
interface Pair {
  readonly match: IndexMatch;
  readonly byIndex: Recorder;
  readonly plain: Recorder;
}

class Run {
  readonly #random: Random;
  readonly #where: string;
  readonly #clock = new FakeClock();
  readonly #pairs: Pair[] = [];
  #cache!: WatchCache;
  /** The number of times that an index left entries out. */
  narrowed = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#where = `FUZZ_SEED=${seed} FUZZ_RUNS=1`;
  }

  async go(): Promise<void> {
    const historyBytesMax = this.#pick([20_000, 10_000_000]);
    this.#cache = await openMemoryStore({ clock: this.#clock, historyBytesMax, compactionIntervalMs: 0 });
    for (let at = 0; at < keysCount; at++) await this.#put(this.#key());
    for (let step = 0; step < stepsPerRun; step++) await this.#step();
    await this.#checkWatches();
    await this.#cache.close();
  }

  async #step(): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.4) await this.#put(this.#key());
    else if (dice < 0.5) await this.#remove(this.#key());
    else if (dice < 0.9) await this.#range();
    else if (dice < 0.92) await this.#watch();
    else if (dice < 0.95) this.#pause();
    else {
      // Indexes that were not used for a minute make room.
      this.#clock.advance(this.#pick([1, 1, 60_000]));
      await turn();
    }
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)]!;
  }

  #key(): string {
    return `${this.#pick(prefixes.slice(1))}${Math.floor(this.#random.next() * keysCount)}`;
  }

  async #put(key: string): Promise<void> {
    const value = (): string => {
      const dice = this.#random.next();
      if (dice < 0.01) return "broken";
      return dice < 0.05 ? "rare" : dice < 0.2 ? "none" : this.#pick(values.slice(0, 3));
    };
    const text = `${value()}/${value()}/${value()}/${value()}/`;
    await putText(this.#cache, key, this.#cache.get(key)?.revision ?? 0, text);
  }

  async #remove(key: string): Promise<void> {
    const entry = this.#cache.get(key);
    if (entry !== undefined) await this.#cache.remove(key, entry.revision);
  }

  #match(): IndexMatch {
    // The first ones are asked for often, so that they are made; the others drive them out from time to time.
    const by = functions[Math.floor(this.#random.next() ** 3 * functions.length)]!;
    return {
      by,
      values: [...new Set([this.#pick(values), ...(this.#random.next() < 0.3 ? [this.#pick(values)] : [])])],
    };
  }

  /** Compares a range, or a page of it, or one at an old revision, by an index and without. */
  async #range(): Promise<void> {
    const matching = Array.from({ length: 1 + Math.floor(this.#random.next() * 3) }, () => this.#match());
    const prefix = this.#pick(prefixes);
    const from = this.#random.next() < 0.3 ? this.#key() : prefix;
    const limit = this.#random.next() < 0.5 ? undefined : 1 + Math.floor(this.#random.next() * 300);
    const { revision } = this.#cache;
    const at = this.#random.next() < 0.2 ? revision - Math.floor(this.#random.next() * 20) : undefined;
    const read = async (options: RangeOptions): Promise<Range | undefined> => {
      if (at === undefined) return this.#cache.range(prefix, { from, ...options });
      const range = await this.#cache.rangeAt(prefix, { from, ...options, at });
      return isCompacted(range) ? undefined : range;
    };
    const range = await read({ matching, ...(limit === undefined ? {} : { limit }) });
    const all = await read({});
    if (range === undefined || all === undefined) return assert.equal(range, all, this.#where);
    const last = range.entries.at(-1);
    const covered = range.more ? all.entries.filter(({ key }) => key <= last!.key) : all.entries;
    const passes = (entry: Entry): boolean => matching.every((match) => meets(match, entry));
    assert.deepEqual(range.entries.filter(passes).map(text), covered.filter(passes).map(text), this.#where);
    if (range.entries.length < covered.length) this.narrowed++;
    if (last === undefined || range.entries.length < (limit ?? Number.POSITIVE_INFINITY)) return;
    const following = all.entries.filter(({ key }) => key > last.key).length;
    assert.equal(range.remaining, following, this.#where);
    assert.equal(range.more, following > 0, this.#where);
  }

  async #watch(): Promise<void> {
    if (this.#pairs.length > 60) return;
    const match = { ...this.#match(), values: [this.#pick(values)] };
    const prefix = this.#pick(prefixes);
    const after = this.#cache.revision;
    const byIndex = await Recorder.open(this.#cache, { prefix, after, matching: match });
    const plain = await Recorder.open(this.#cache, { prefix, after });
    this.#pairs.push({ match, byIndex, plain });
  }

  #pause(): void {
    if (this.#pairs.length === 0) return;
    const { byIndex } = this.#pick(this.#pairs);
    byIndex.accepts = !byIndex.accepts;
    if (byIndex.accepts) byIndex.watch.resume();
  }

  async #checkWatches(): Promise<void> {
    const all = this.#pairs.flatMap(({ byIndex, plain }) => [byIndex, plain]);
    for (const recorder of all) {
      recorder.accepts = true;
      recorder.watch.resume();
    }
    const { revision } = this.#cache;
    await waitUntil(() => {
      // Many watchers rest between two rounds.
      this.#clock.advance(1);
      return all.every(({ ended, watch }) => ended !== undefined || watch.position >= revision);
    });
    for (const { match, byIndex, plain } of this.#pairs) {
      assert.equal(plain.ended, undefined, this.#where);
      const wanted = plain.events.filter((event) => concerns(match, event)).map(shown);
      const got = byIndex.events.filter((event) => concerns(match, event)).map(shown);
      // A watcher whose past has left memory is ended; what it got until then is right.
      if (byIndex.ended === undefined) assert.equal(byIndex.watch.position, revision, this.#where);
      assert.deepEqual(got, byIndex.ended === undefined ? wanted : wanted.slice(0, got.length), this.#where);
    }
  }
}

/** Whether an entry has the value, or cannot be read, which its reader must learn. */
function meets({ by, values: wanted }: IndexMatch, entry: Entry): boolean {
  try {
    const value = by.valueOf(entry, false);
    return value !== undefined && wanted.includes(value);
  } catch {
    return true;
  }
}

const concerns = (match: IndexMatch, { entry, previous }: StoreEvent): boolean =>
  meets(match, entry) || (previous !== undefined && meets(match, previous));

const text = ({ key, value }: Entry): string => `${key} ${value.toString()}`;
const shown = ({ type, entry }: StoreEvent): string => `${type} ${text(entry)}`;

test(`indexes leave out only what does not match (FUZZ_SEED=${firstSeed}, ${runs} runs)`, async () => {
  let narrowed = 0;
  for (let i = 0; i < runs; i++) {
    const run = new Run(firstSeed + i);
    await run.go();
    narrowed += run.narrowed;
  }
  assert.ok(narrowed > 0, "no range came from an index");
});
