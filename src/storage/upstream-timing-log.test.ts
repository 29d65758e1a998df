/** Tests that a log with upstream's timing keeps the storage contract, and waits where it says and no longer. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";

import { type LogWatchCache, openMemoryStore } from "./memory.ts";
import { pods, putText, Recorder, settle, storeContract, textOf } from "./store.contract.ts";
import { deletionPauseMs, readDelayMs, UpstreamTimingLog } from "./upstream-timing-log.ts";

storeContract({
  name: "a log that takes its time",
  open: (options) => openMemoryStore({ ...options, wrap: (log) => new UpstreamTimingLog(log, systemClock) }),
  hasLog: false,
});

async function openCache(): Promise<{ readonly cache: LogWatchCache; readonly clock: FakeClock }> {
  const clock = new FakeClock();
  const wrap = (log: ConstructorParameters<typeof UpstreamTimingLog>[0]): UpstreamTimingLog =>
    new UpstreamTimingLog(log, clock);
  const cache = await openMemoryStore({ clock, compactionIntervalMs: 0, watchRestMsMax: 0, wrap });
  return { cache, clock };
}

const pod = `${pods}shop/a`;

/** Marks the pod for deletion. */
async function mark(cache: LogWatchCache, expected: number, text = "marked"): Promise<void> {
  assert((await cache.put(pod, expected, textOf(text), { isForDeletion: true })).ok);
}

/** Whether a promise is resolved when all work that waits for no clock is done. */
async function isDone(work: Promise<unknown>): Promise<boolean> {
  let done = false;
  void work.then(() => (done = true));
  await settle();
  return done;
}

test("a marked object is removed after a pause, when every watcher has had the mark by itself", async () => {
  const { cache, clock } = await openCache();
  const open = (prefix: string): Promise<Recorder> => Recorder.open(cache, { prefix, after: 1 });
  await putText(cache, pod, 0, "a");
  const watchers = await Promise.all(Array.from({ length: 500 }, (_, i) => open(i % 2 === 0 ? pods : `${pods}shop/`)));
  await mark(cache, 1);
  const removal = cache.remove(pod, 2);
  assert.equal(await isDone(removal), false);
  clock.advance(deletionPauseMs - 1);
  assert.equal(await isDone(removal), false);
  assert.equal(cache.revision, 2);
  for (const { texts } of watchers) assert.deepEqual(texts, ["MODIFIED marked@2"]);
  clock.advance(1);
  assert.equal((await removal).ok, true);
  for (const recorder of watchers) {
    await recorder.until(2);
    assert.deepEqual(
      recorder.batches.map((batch) => batch.map(({ type }) => type)),
      [["MODIFIED"], ["DELETED"]],
    );
  }
  await cache.close();
});

test("the pause begins when watchers have been handed the mark, however long the turn of the loop takes", async () => {
  const { cache, clock } = await openCache();
  await putText(cache, pod, 0, "a");
  const watcher = await Recorder.open(cache, { prefix: pods, after: 1 });
  await mark(cache, 1);
  const removal = cache.remove(pod, 2);
  clock.advance(10 * deletionPauseMs);
  assert.equal(await isDone(removal), false);
  assert.equal(watcher.events.length, 1);
  clock.advance(deletionPauseMs);
  assert.equal(await isDone(removal), true);
  await watcher.until(2);
  await cache.close();
});

test("the pause counts from the first mark, and what was never marked, or long ago, is removed at once", async () => {
  const { cache, clock } = await openCache();
  await putText(cache, pod, 0, "a");
  assert.equal(await isDone(cache.remove(pod, 1)), true);
  await putText(cache, pod, 0, "b");
  await mark(cache, 3);
  await settle();
  clock.advance(deletionPauseMs - 1);
  await mark(cache, 4, "marked and changed");
  const removal = cache.remove(pod, 5);
  assert.equal(await isDone(removal), false);
  clock.advance(1);
  assert.equal(await isDone(removal), true);
  // A key that is made anew under the same name waits anew.
  await putText(cache, pod, 0, "c");
  await mark(cache, 7);
  const again = cache.remove(pod, 8);
  assert.equal(await isDone(again), false);
  clock.advance(60_000);
  assert.equal(await isDone(again), true);
  await putText(cache, pod, 0, "d");
  await mark(cache, 10);
  await settle();
  clock.advance(deletionPauseMs);
  assert.equal(await isDone(cache.remove(pod, 11)), true);
  await cache.close();
});

test("a removal that a change overtakes in its pause is told of the change", async () => {
  const { cache, clock } = await openCache();
  await putText(cache, pod, 0, "a");
  await mark(cache, 1);
  const removal = cache.remove(pod, 2);
  await mark(cache, 2, "changed");
  await settle();
  clock.advance(deletionPauseMs);
  const result = await removal;
  assert.equal(!result.ok && result.current?.revision, 3);
  await cache.close();
});

test("a read of the present waits until the newest write that it found is old enough, whatever is written then", async () => {
  const { cache, clock } = await openCache();
  const fresh = async (): Promise<void> => cache.fresh();
  assert.equal(await isDone(fresh()), true);
  await putText(cache, pod, 0, "a");
  clock.advance(1);
  const read = fresh();
  for (let revision = 1; revision < readDelayMs; revision++) {
    assert.equal(await isDone(read), false);
    await putText(cache, pod, revision, "x");
    clock.advance(1);
  }
  assert.equal(await isDone(read), true);
  clock.advance(readDelayMs);
  assert.equal(cache.fresh(), undefined);
  await cache.close();
});
