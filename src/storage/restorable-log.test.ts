/** Going back to an earlier state of a store, by ordinary writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { openMemoryStore } from "./memory.ts";
import { RestorableLog } from "./restorable-log.ts";
import { toUnversioned } from "./versioned-value.ts";
import type { StoreEvent } from "./watch-cache.ts";

const inOrder = (a: string, b: string): number => (a < b ? -1 : 1);

async function openRestorable() {
  const clock = new FakeClock();
  let log: RestorableLog | undefined;
  const cache = await openMemoryStore({
    clock,
    wrap: (inner) => (log = new RestorableLog(inner, () => clock.now())),
  });
  const put = async (key: string, text: string, ttlSeconds = 0): Promise<void> => {
    const encoded = { ...toUnversioned(`{"v":"","text":"${text}"}`, '"v":"'), decode: () => undefined };
    assert.ok((await cache.put(key, cache.get(key)?.revision ?? 0, encoded, { ttlSeconds })).ok);
  };
  const texts = (): string[] => cache.range("/").entries.map(({ key, value }) => `${key} ${value.toString()}`);
  return { clock, cache, log: log!, put, texts }; // it was opened above
}

void test("a restored state has the old values at new revisions, and history has each write", async () => {
  const { cache, log, put, texts } = await openRestorable();
  await put("/a", "a1");
  await put("/b", "b1");
  await put("/c", "c1");
  const snapshot = log.takeSnapshot();
  await put("/a", "a2");
  await cache.remove("/b", 2);
  await put("/d", "d1");
  const { revision } = cache;

  const events: StoreEvent[] = [];
  const watch = await cache.watch({
    prefix: "/",
    after: revision,
    deliver: (some) => {
      events.push(...some);
      return true;
    },
    ended: () => undefined,
  });
  assert.ok("close" in watch);
  assert.deepEqual(await log.restore(snapshot, inOrder), ["/d", "/a", "/b"]);
  assert.deepEqual(texts(), ['/a {"v":"8","text":"a1"}', '/b {"v":"9","text":"b1"}', '/c {"v":"3","text":"c1"}']);
  while (!cache.isQuiet(true)) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    events.map(({ type, entry, revision: at }) => `${at} ${type} ${entry.key}`),
    ["7 DELETED /d", "8 MODIFIED /a", "9 ADDED /b"],
  );
  assert.deepEqual(await log.restore(snapshot, inOrder), [], "nothing is left to do");
  await cache.close();
});

void test("a key expires as long after the restoration as it would have after the snapshot", async () => {
  const { clock, cache, log, put } = await openRestorable();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await put("/event", "e", 60);
  const snapshot = log.takeSnapshot();
  await pass(3_600_000);
  assert.equal(cache.get("/event"), undefined);
  await log.restore(snapshot, inOrder);
  await pass(59_000);
  assert.ok(cache.get("/event") !== undefined);
  await pass(2_000);
  assert.equal(cache.get("/event"), undefined);
  await cache.close();
});

void test("a writer that read before a restoration meets a conflict after it", async () => {
  const { cache, log, put, texts } = await openRestorable();
  await put("/a", "a1");
  const snapshot = log.takeSnapshot();
  await put("/a", "a2");
  const restoring = log.restore(snapshot, inOrder);
  const late = { ...toUnversioned("{}", '"v":"'), decode: () => undefined };
  assert.ok(!(await cache.put("/a", 2, late)).ok, "the expected version is gone");
  assert.deepEqual(await restoring, ["/a"]);
  assert.deepEqual(texts(), ['/a {"v":"3","text":"a1"}']);
  await cache.close();
});
