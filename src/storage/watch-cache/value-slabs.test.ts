/** Memory of values: what is shared, given up and moved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { isCompacted } from "../log-store.ts";
import { openMemoryStore } from "../memory.ts";
import { toUnversioned } from "../versioned-value.ts";
import type { StoreEvent } from "../watch-cache.ts";
import { type Placed, ValueSlabs } from "./value-slabs.ts";

const slabBytes = 1024 * 1024;

/** A value all of whose bytes are the same. */
class Filled implements Placed {
  memory = Buffer.alloc(0);
  start = 0;
  valueLength = 0;
  readonly fill: number;

  constructor(slabs: ValueSlabs, length: number, fill: number) {
    this.fill = fill;
    slabs.allocate(this, length);
    this.memory.fill(fill, this.start, this.start + length);
  }

  get isWhole(): boolean {
    return this.memory.subarray(this.start, this.start + this.valueLength).every((byte) => byte === this.fill);
  }
}

/** Returns the number of blocks of memory of some values. */
const blocksOf = (memories: Iterable<ArrayBufferLike>): number => new Set(memories).size;

test("a store of few values takes little memory, many small values share few blocks, and a long one has its own", () => {
  const slabs = new ValueSlabs();
  const values = Array.from({ length: 10_000 }, (_, i) => new Filled(slabs, 1000, i % 251));
  assert.equal(values[0]!.memory.length, 16 * 1024);
  assert.equal(values.at(-1)!.memory.length, slabBytes);
  assert.ok(blocksOf(values.map(({ memory }) => memory.buffer)) < 20);
  assert.ok(values.every(({ isWhole, valueLength }) => isWhole && valueLength === 1000));
  assert.equal(new Filled(slabs, 200_000, 1).memory.length, 200_000);
});

test("memory stays near the live bytes while values come and go, and no value changes", () => {
  const random = seededRandom(7);
  const slabs = new ValueSlabs();
  const live: Filled[] = [];
  let liveBytes = 0;
  let passes = 0;
  for (let i = 0; i < 200_000; i++) {
    if (live.length > 20_000) {
      const at = Math.floor(random.next() * live.length);
      const gone = live[at]!;
      live[at] = live.at(-1)!;
      live.pop();
      liveBytes -= gone.valueLength;
      slabs.release(gone);
      assert.ok(gone.isWhole, "a reader may still need it");
    }
    const value = new Filled(slabs, 1 + Math.floor(random.next() * 2000), i % 256);
    liveBytes += value.valueLength;
    live.push(value);
    if (!slabs.isWasteful) continue;
    passes++;
    const sparse = slabs.sparse();
    for (const entry of live) if (sparse.has(entry.memory)) slabs.move(entry);
    slabs.passed(sparse);
    assert.ok(!slabs.isWasteful, "a pass frees what it can");
  }
  assert.ok(live.every(({ isWhole }) => isWhole));
  assert.ok(passes > 3, `${passes} passes`);
  const blocks = blocksOf(live.map(({ memory }) => memory.buffer));
  assert.ok(blocks * slabBytes < liveBytes * 1.6 + 16 * slabBytes, `${blocks} blocks for ${liveBytes} bytes`);
});

test("a slab without values is forgotten, also one that was emptied while it was open", () => {
  const slabs = new ValueSlabs();
  for (let i = 0; i < 100; i++) {
    const values = Array.from({ length: 20 }, () => new Filled(slabs, 60_000, 1));
    for (const value of values) slabs.release(value);
  }
  assert.equal(slabs.sparse().size, 0);
  assert.ok(!slabs.isWasteful);
});

test("a cache whose objects are written again and again moves the values that stay", async (t) => {
  const cache = await openMemoryStore({ clock: new FakeClock(), compactionIntervalMs: 0, historyBytesMax: 100_000 });
  t.after(() => cache.close());
  const prefix = "/registry//configmaps/";
  const write = async (name: string, expected: number, round: number): Promise<number> => {
    const text = `{"name":"${name}","round":${round},"resourceVersion":"","filler":"${"x".repeat(4000)}"}`;
    const value = { ...toUnversioned(text, '"resourceVersion":"'), decode: () => undefined };
    const result = await cache.put(prefix + name, expected, value);
    assert.ok(result.ok);
    return result.entry.revision;
  };
  // One value of ten stays, among others that are replaced.
  const names = Array.from({ length: 10_000 }, (_, i) => String(i).padStart(5, "0"));
  const revisions = new Map<string, number>();
  for (let round = 0; round < 4; round++) {
    for (const [i, name] of names.entries()) {
      if (round > 0 && i % 10 === 0) continue;
      revisions.set(name, await write(name, revisions.get(name) ?? 0, round));
      // Passes go on in turns of the event loop.
      if (i % 100 === 1) await turn();
    }
  }
  const { entries } = cache.range(prefix);
  assert.equal(entries.length, names.length);
  for (const [i, { value, revision }] of entries.entries()) {
    const { name, round, resourceVersion } = JSON.parse(value.toString()) as Readonly<Record<string, string | number>>;
    assert.deepEqual([name, round, resourceVersion], [names[i], i % 10 === 0 ? 0 : 3, String(revision)]);
  }
  const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
  const blocks = blocksOf(entries.map(({ value }) => value.buffer));
  assert.ok(blocks * slabBytes < bytes * 1.5 + 12 * slabBytes, `${blocks} blocks for ${bytes} bytes`);
});

test("a cache moves the values of history, too", async (t) => {
  const cache = await openMemoryStore({ clock: new FakeClock(), compactionIntervalMs: 0, historyBytesMax: 2 ** 30 });
  t.after(() => cache.close());
  const prefix = "/registry//configmaps/";
  const filler = "x".repeat(1000);
  const count = 40_000;
  const random = seededRandom(3);
  const keys = Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(5, "0")}`);
  for (const key of keys) {
    const value = { ...toUnversioned(`${key} "" ${filler}`, '"'), decode: () => undefined };
    assert.ok((await cache.put(key, 0, value)).ok);
  }
  // Nine of ten are deleted, far from each other, and history has the last third of the deletions.
  const order = keys.toSorted(() => random.next() - 0.5).slice(0, (count * 9) / 10);
  const deletions: number[] = [];
  for (const [i, key] of order.entries()) {
    const result = await cache.remove(key, cache.get(key)!.revision);
    assert.ok(result.ok);
    deletions.push(result.entry.revision);
    if (i % 100 === 0) await turn();
  }
  const from = deletions[Math.floor((deletions.length * 2) / 3)]!;
  await cache.compact(from);
  while (cache.statistics.historyEvents > deletions.length / 3 + 1) await turn();
  for (let i = 0; i < 200; i++) await turn();
  const events: StoreEvent[] = [];
  const watch = await cache.watch({
    prefix,
    after: from,
    deliver: (batch) => events.push(...batch) > 0,
    ended: () => undefined,
  });
  assert.ok(!isCompacted(watch));
  while (events.length < deletions.length / 3 - 1) await turn();
  const values = [...cache.range(prefix).entries, ...events.flatMap(({ entry, previous }) => [entry, previous!])];
  for (const { key, value } of values) assert.ok(value.toString().startsWith(key) && value.toString().endsWith(filler));
  const bytes = values.reduce((sum, { valueLength }) => sum + valueLength, 0);
  const blocks = blocksOf(values.map(({ value }) => value.buffer));
  assert.ok(blocks * slabBytes < bytes * 1.4 + 6 * slabBytes, `${blocks} blocks for ${bytes} bytes`);
});
