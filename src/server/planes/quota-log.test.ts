/** The quota of a plane's log: what it counts, and that counting takes no more work where there are many objects. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { forbidden, StatusError } from "#meta/status-error.ts";
import type { LogStore } from "#storage/log-store.ts";
import { type LogWatchCache, openMemoryStore } from "#storage/memory.ts";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import type { Encoded } from "#storage/watch-cache.ts";
import { type ByteQuota, QuotaLog } from "./quota-log.ts";

const valueOf = (bytes: number): Encoded => ({ ...withoutRevision(Buffer.alloc(bytes)), decode: () => undefined });
const keyOf = (name: string | number): string => `/registry/core/configmaps/${name}`;

/** A cache above a log with a quota, and the number of times that the quota asked it for something. */
interface Opened {
  readonly cache: LogWatchCache;
  looks(): number;
}

async function open(
  t: TestContext,
  bytes: number,
  openCache: (wrap: (log: LogStore) => LogStore) => Promise<LogWatchCache>,
): Promise<Opened> {
  let cache: LogWatchCache | undefined;
  let looks = 0;
  const looked = <T>(found: T): T => {
    looks++;
    return found;
  };
  const sizes: ReturnType<ByteQuota["stored"]> = {
    get presentBytes() {
      return looked(cache!.presentBytes);
    },
    presentBytesOf: (key) => looked(cache!.presentBytesOf(key)),
    get: (key) => looked(cache!.get(key)),
    waitFor: (revision, timeoutMs) => cache!.waitFor(revision, timeoutMs),
  };
  const quota: ByteQuota = {
    limit: () => bytes,
    stored: () => cache && sizes,
    refusal: (used, limit) => forbidden({ group: "", resource: "planes" }, "a", `${used} of ${limit}`),
  };
  cache = await openCache((log) => new QuotaLog(log, quota));
  t.after(() => cache.close());
  return { cache, looks: () => looks };
}

const openAlone = (t: TestContext, bytes: number): Promise<Opened> =>
  open(t, bytes, (wrap) => openMemoryStore({ clock: new FakeClock(), wrap }));

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 403;

/** Fills a plane up to its quota, and returns how often the quota looks at the cache for a hundred writes that it refuses. */
async function looksAtQuota(t: TestContext, objects: number): Promise<number> {
  const { cache, looks } = await openAlone(t, objects);
  for (let at = 0; at < objects; at++) await cache.put(keyOf(at), 0, valueOf(1));
  const before = looks();
  for (let at = 0; at < 100; at++) await assert.rejects(cache.put(keyOf("more"), 0, valueOf(1)), isRefused);
  return looks() - before;
}

test("a write that is refused costs the same, however many objects there are", async (t) => {
  const few = await looksAtQuota(t, 10);
  assert.ok(few > 0);
  assert.equal(await looksAtQuota(t, 5000), few);
});

test("many writes at once exceed the quota no more than one after the other", async (t) => {
  const { cache } = await openAlone(t, 100);
  const writes = Array.from({ length: 50 }, (_, at) => cache.put(keyOf(at), 0, valueOf(7)));
  const outcomes = await Promise.allSettled(writes);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 14);
  assert.equal(cache.presentBytes, 98);
});

test("deletions make room, writes that make an object no larger go on, and so do steps of deletions", async (t) => {
  const { cache } = await openAlone(t, 10);
  await cache.put(keyOf("a"), 0, valueOf(6));
  const b = await cache.put(keyOf("b"), 0, valueOf(4));
  assert.ok(b.ok);
  await assert.rejects(cache.put(keyOf("b"), b.entry.revision, valueOf(5)), isRefused);
  const same = await cache.put(keyOf("b"), b.entry.revision, valueOf(4));
  assert.ok(same.ok);
  const marked = await cache.put(keyOf("b"), same.entry.revision, valueOf(5), { isForDeletion: true });
  assert.ok(marked.ok);
  await assert.rejects(cache.put(keyOf("c"), 0, valueOf(1)), isRefused);
  await cache.remove(keyOf("b"), marked.entry.revision);
  assert.ok((await cache.put(keyOf("c"), 0, valueOf(4))).ok);
  assert.equal(cache.presentBytes, 10);
});

test("objects of other servers count as soon as they are heard of, own ones before", async (t) => {
  const log = new SharedLog();
  const store = log.open();
  const clock = new FakeClock();
  const { cache } = await open(t, 10, (wrap) => openMemoryStore({ clock, wrap: () => wrap(store) }));
  log.change(new Map([[keyOf("of-another"), withoutRevision(Buffer.alloc(6))]]));
  await assert.rejects(cache.put(keyOf("a"), 0, valueOf(5)), isRefused);
  store.isDeaf = true;
  const written = cache.put(keyOf("a"), 0, valueOf(3));
  await assert.rejects(cache.put(keyOf("b"), 0, valueOf(2)), isRefused);
  store.isDeaf = false;
  assert.ok((await written).ok);
  assert.ok((await cache.put(keyOf("b"), 0, valueOf(1))).ok);
  log.missedMax = 0;
  log.change(new Map([[keyOf("of-another"), undefined]]));
  assert.equal(store.reloads, 1);
  assert.equal(cache.presentBytes, 4);
});

test("values that could not be read count when they can be", async (t) => {
  const { cache } = await openAlone(t, 10);
  const entry = { key: keyOf("dark"), revision: 1 };
  cache.load({ ...entry, value: withoutRevision(Buffer.alloc(0)), unreadable: "the key is missing" });
  assert.equal(cache.presentBytes, 0);
  cache.recovered([{ ...entry, value: withoutRevision(Buffer.alloc(8)) }]);
  assert.equal(cache.presentBytes, 8);
});
