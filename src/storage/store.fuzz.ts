/**
 * Compares the stores with a list of events under one seed: valid, invalid and concurrent writes, reads at all
 * revisions, interrupted watches, compaction, too little memory for history, restarts of the durable one. `FUZZ_SEED`
 * replays a run, `FUZZ_RUNS` sets the number of runs.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

import { Recorder, settle, waitUntil } from "./store.contract.ts";
import { checkConsistency } from "./consistency-for-tests.ts";
import { DelayedLog } from "./delayed-log-for-tests.ts";
import { isCompacted, type Revision } from "./log-store.ts";
import { openMemoryLog, openMemoryStore } from "./memory.ts";
import { openSqliteStore, type SqliteStore } from "./sqlite.ts";
import { toUnversioned } from "./versioned-value.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";
import type { WatchCache } from "./watch-cache.ts";

const runs = Number(process.env["FUZZ_RUNS"] ?? 6);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const stepsPerRun = 500;

/** One change in the model. */
interface Change {
  readonly revision: Revision;
  readonly key: string;
  /** The text; `undefined` when the key was deleted. */
  readonly text: string | undefined;
}

interface Watching {
  readonly recorder: Recorder;
  readonly prefix: string;
  readonly exact: boolean;
  readonly after: Revision;
}

/** An open store; `durable` is the same one, if it is durable. */
interface Opened {
  readonly cache: WatchCache;
  readonly durable?: SqliteStore;
}

interface Subject {
  readonly name: string;
  readonly hasLog: boolean;
  readonly open: (dataDir: string, clock: FakeClock, historyBytesMax: number, random: Random) => Promise<Opened>;
}

const subjects: Subject[] = [
  {
    name: "memory",
    hasLog: false,
    open: async (_dataDir, clock, historyBytesMax) => ({
      cache: await openMemoryStore({ clock, historyBytesMax, compactionIntervalMs: 0 }),
    }),
  },
  {
    name: "a log far away",
    hasLog: false,
    async open(_dataDir, clock, historyBytesMax, random) {
      const log = new DelayedLog(openMemoryLog({ clock, compactionIntervalMs: 0 }), random, 1);
      return { cache: await LogWatchCache.open(log, { clock, historyBytesMax }) };
    },
  },
  {
    name: "sqlite",
    hasLog: true,
    async open(dataDir, clock, historyBytesMax) {
      const faults = { sweepRuns: 4, segmentRows: 30 };
      const durable = await openSqliteStore({ dataDir, clock, historyBytesMax, compactionIntervalMs: 0, faults });
      return { cache: durable.cache, durable };
    },
  },
];

const resources = ["/registry//pods/", "/registry/apps/deployments/", "/registry//namespaces/"];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random.next() * items.length)]!;
}

function randomKey(random: Random): string {
  const resource = pick(random, resources);
  const namespace = resource.endsWith("namespaces/") ? "" : pick(random, ["a/", "b/", "ab/"]);
  return `${resource}${namespace}${pick(random, ["x", "y", "z", "x-1", "__proto__", "ü"])}`;
}

class Run {
  readonly #subject: Subject;
  readonly #random: Random;
  readonly #where: string;
  readonly #dataDir: string;
  readonly #clock = new FakeClock();
  readonly #changes: Change[] = [];
  #watching: Watching[] = [];
  #opened!: Opened;
  #historyBytesMax = 0;

  constructor(subject: Subject, seed: number, dataDir: string) {
    this.#subject = subject;
    this.#random = seededRandom(seed);
    this.#where = `FUZZ_SEED=${seed} ${subject.name}`;
    this.#dataDir = dataDir;
  }

  async go(): Promise<void> {
    this.#historyBytesMax = pick(this.#random, [0, 3000, 20_000, 1_000_000]);
    this.#opened = await this.#open();
    try {
      for (let step = 0; step < stepsPerRun; step++) await this.#step();
      await this.#checkWatches();
      await this.#checkPresent();
    } finally {
      await this.#cache.close();
    }
  }

  get #cache(): WatchCache {
    return this.#opened.cache;
  }

  #open(): Promise<Opened> {
    return this.#subject.open(this.#dataDir, this.#clock, this.#historyBytesMax, this.#random);
  }

  async #step(): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.62) await this.#write();
    else if (dice < 0.72) await this.#readOld();
    else if (dice < 0.8) await this.#startWatch();
    else if (dice < 0.9) this.#nudgeWatch();
    else if (dice < 0.93) await this.#compact();
    else if (dice < 0.935 && this.#subject.hasLog) await this.#restart();
    else if (dice < 0.97) await turn();
    else await this.#checkPresent();
  }

  /** Makes a few writes at once, some of them to the same key, some with a wrong expectation. */
  async #write(): Promise<void> {
    const count = 1 + Math.floor(this.#random.next() ** 3 * 8);
    const keys = [randomKey(this.#random), randomKey(this.#random)];
    const before = new Map(keys.map((key) => [key, this.#cache.get(key)?.revision ?? 0]));
    const done: Change[] = [];
    const refused: { readonly key: string; readonly expected: Revision; readonly current: Revision }[] = [];
    await Promise.all(
      Array.from({ length: count }, async () => {
        const key = pick(this.#random, keys);
        const current = this.#cache.get(key);
        const expected = this.#random.next() < 0.9 ? (current?.revision ?? 0) : Math.floor(this.#random.next() * 50);
        const filler = "x".repeat(Math.floor(this.#random.next() * 300));
        const encoded = { ...toUnversioned(`${key}  ${filler}`, `${key} `), decode: () => undefined };
        const isRemoval = current !== undefined && this.#random.next() < 0.3;
        const result = isRemoval
          ? await this.#cache.remove(key, expected)
          : await this.#cache.put(key, expected, encoded);
        if (!result.ok) {
          refused.push({
            key,
            expected: isRemoval ? expected || -1 : expected,
            current: result.current?.revision ?? 0,
          });
          return;
        }
        const { revision } = result.entry;
        const text = `${key} ${revision} ${filler}`;
        if (!isRemoval) assert.equal(result.entry.value.toString(), text, this.#where);
        done.push({ revision, key, text: isRemoval ? undefined : text });
      }),
    );
    for (const change of done.toSorted((a, b) => a.revision - b.revision)) {
      assert(change.revision > (this.#changes.at(-1)?.revision ?? 0), this.#where);
      this.#changes.push(change);
    }
    for (const { key, expected, current } of refused) {
      const states = done
        .filter((change) => change.key === key)
        .map(({ revision, text }) => (text === undefined ? 0 : revision));
      states.push(before.get(key)!);
      assert(states.includes(current), this.#where);
      assert(
        states.some((revision) => revision !== expected),
        this.#where,
      );
    }
  }

  #stateAt(revision: Revision): Map<string, Change> {
    const state = new Map<string, Change>();
    for (const change of this.#changes) {
      if (change.revision > revision) break;
      if (change.text === undefined) state.delete(change.key);
      else state.set(change.key, change);
    }
    return state;
  }

  #anyRevision(): Revision {
    return Math.floor(this.#random.next() * (this.#cache.revision + 1));
  }

  async #readOld(): Promise<void> {
    const at = this.#anyRevision();
    const prefix = pick(this.#random, [...resources, `${resources[0]}a/`, "/registry/", "", `${resources[0]}a/x`]);
    const limit = pick(this.#random, [1, 2, 5, 1000]);
    const from = this.#random.next() < 0.3 ? randomKey(this.#random) : undefined;
    const wanted = [...this.#stateAt(at).values()]
      .filter((change) => change.key.startsWith(prefix) && (from === undefined || change.key >= from))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const range = await this.#cache.rangeAt(prefix, { at, limit, ...(from !== undefined && { from }) });
    if (isCompacted(range)) this.#mayBeCompacted(at, range.compacted);
    else {
      assert.deepEqual(
        range.entries.map((entry) => entry.value.toString()),
        wanted.slice(0, limit).map((change) => change.text),
        `${this.#where} range of ${prefix} at ${at}`,
      );
      assert.equal(range.remaining, Math.max(0, wanted.length - limit), `${this.#where} ${prefix} at ${at}`);
      assert.equal(range.revision, at, this.#where);
    }
    const key = randomKey(this.#random);
    const page = await this.#cache.rangeAt(key, { at });
    if (isCompacted(page)) this.#mayBeCompacted(at, page.compacted);
    else {
      const entry = page.entries.find((one) => one.key === key);
      assert.equal(entry?.value.toString(), this.#stateAt(at).get(key)?.text, `${this.#where} ${key} at ${at}`);
    }
  }

  #mayBeCompacted(revision: Revision, compacted: Revision): void {
    assert(revision < compacted, this.#where);
    if (this.#subject.hasLog) assert(revision < this.#cache.compactedRevision, this.#where);
  }

  async #startWatch(): Promise<void> {
    if (this.#watching.length > 20) return;
    const exact = this.#random.next() < 0.2;
    const prefix = exact
      ? randomKey(this.#random)
      : pick(this.#random, [...resources, `${resources[0]}a/`, "/registry/"]);
    const after = this.#random.next() < 0.5 ? this.#cache.revision : this.#anyRevision();
    const recorder = new Recorder();
    const watch = await this.#cache.watch({
      prefix,
      exact,
      after,
      queueLengthMax: 100,
      deliver: (events) => {
        assert(events.length > 0);
        recorder.batches.push(events);
        return recorder.accepts;
      },
      ended: (reason) => {
        recorder.ended = reason;
      },
    });
    if (isCompacted(watch)) {
      this.#mayBeCompacted(after, watch.compacted);
      return;
    }
    recorder.watch = watch;
    this.#watching.push({ recorder, prefix, exact, after });
  }

  #nudgeWatch(): void {
    const one = this.#watching[Math.floor(this.#random.next() * this.#watching.length)];
    if (one === undefined) return;
    one.recorder.accepts = !one.recorder.accepts;
    if (one.recorder.accepts) one.recorder.watch.resume();
    this.#checkWatch(one);
  }

  /** Checks that a watcher got all events of the model up to its position, in order. */
  #checkWatch({ recorder, prefix, exact, after }: Watching): void {
    const { position } = recorder.watch;
    const reached = recorder.ended === undefined ? position : (recorder.events.at(-1)?.revision ?? after);
    const wanted: string[] = [];
    const state = this.#stateAt(after);
    for (const change of this.#changes) {
      if (change.revision <= after || change.revision > reached) continue;
      const before = state.get(change.key);
      if (change.text === undefined) state.delete(change.key);
      else state.set(change.key, change);
      if (exact ? change.key !== prefix : !change.key.startsWith(prefix)) continue;
      const type = change.text === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED";
      wanted.push(`${type} ${change.key} ${change.revision} ${before?.text}`);
    }
    assert.deepEqual(
      recorder.events.map(
        (event) => `${event.type} ${event.entry.key} ${event.revision} ${event.previous?.value.toString()}`,
      ),
      wanted,
      `${this.#where} watch of ${prefix} after ${after} at ${reached}`,
    );
  }

  async #checkWatches(): Promise<void> {
    for (const { recorder } of this.#watching) {
      recorder.accepts = true;
      recorder.watch.resume();
    }
    const isDone = (one: Watching): boolean =>
      one.recorder.ended !== undefined || one.recorder.watch.position >= this.#cache.revision;
    await waitUntil(() => this.#watching.every(isDone));
    await settle();
    for (const one of this.#watching) {
      assert(isDone(one), `${this.#where} a watch did not arrive`);
      this.#checkWatch(one);
      one.recorder.watch.close();
    }
    this.#watching = [];
  }

  async #checkPresent(): Promise<void> {
    const state = this.#stateAt(Number.POSITIVE_INFINITY);
    const range = this.#cache.range("");
    assert.deepEqual(
      range.entries.map((entry) => entry.value.toString()),
      [...state.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1)).map((change) => change.text),
      this.#where,
    );
    assert.equal(this.#cache.count(""), state.size, this.#where);
    let bytes = 0;
    for (const { key, valueLength, revision } of range.entries) {
      const expected = valueLength - String(revision).length;
      assert.equal(this.#cache.presentBytesOf(key), expected, this.#where);
      bytes += expected;
    }
    assert.equal(this.#cache.presentBytes, bytes, this.#where);
    assert.equal(this.#cache.revision, this.#changes.at(-1)?.revision ?? 0, this.#where);
    const { durable } = this.#opened;
    if (durable !== undefined) assert.deepEqual(await checkConsistency(durable, this.#random, 10), [], this.#where);
  }

  /** Compacts, sometimes beside other work. */
  async #compact(): Promise<void> {
    const done = this.#cache.compact(this.#anyRevision());
    if (this.#random.next() < 0.5) {
      await this.#readOld();
      await this.#write();
      await this.#startWatch();
    }
    await done;
  }

  async #restart(): Promise<void> {
    await this.#checkWatches();
    const { revision, compactedRevision } = this.#cache;
    await this.#cache.close();
    this.#opened = await this.#open();
    assert.equal(this.#cache.revision, revision, this.#where);
    assert.equal(this.#cache.compactedRevision, compactedRevision, this.#where);
    await this.#checkPresent();
  }
}

test(`stores agree with a naive model (FUZZ_SEED=${firstSeed}, ${runs} runs each)`, async () => {
  const root = mkdtempSync(join(tmpdir(), "binnacle-fuzz-"));
  try {
    for (let i = 0; i < runs; i++) {
      for (const subject of subjects) {
        await new Run(subject, firstSeed + i, join(root, `${subject.name}-${i}`)).go();
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
