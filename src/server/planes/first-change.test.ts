/** The first change of a store: it is told once, and the watch that waited for it ends. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { type LogWatchCache, openMemoryStore } from "#storage/memory.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { onFirstChange } from "./first-change.ts";

const write = (cache: LogWatchCache, key: string) =>
  cache.put(`/registry/${key}`, 0, { ...withoutRevision(Buffer.from("x")), decode: () => undefined });

/** Resolves when watchers were given all that was written. */
async function delivered(cache: LogWatchCache): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (!cache.isQuiet(true));
}

async function open(t: TestContext): Promise<{ cache: LogWatchCache; told(): number }> {
  const cache = await openMemoryStore({ clock: new FakeClock() });
  t.after(() => cache.close());
  let told = 0;
  await onFirstChange(cache, () => told++);
  return { cache, told: () => told };
}

test("the first change of an object is told once, and nothing is watched afterwards", async (t) => {
  const { cache, told } = await open(t);
  await write(cache, "binnacle/peers/one");
  await delivered(cache);
  assert.deepEqual([told(), cache.statistics.watchers], [0, 1]);
  for (const key of ["core/configmaps/a", "core/configmaps/b"]) {
    await write(cache, key);
    await delivered(cache);
    assert.deepEqual([told(), cache.statistics.watchers], [1, 0]);
  }
});

test("the end of the store counts as a change that may have been missed", async (t) => {
  const { cache, told } = await open(t);
  await cache.close();
  assert.deepEqual([told(), cache.statistics.watchers], [1, 0]);
});
