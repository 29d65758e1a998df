/** Caches above a log that several servers write to: changes of others, several in a revision, lost changes and answers. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClock } from "#std/fake-clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

import { ForwardingLog } from "./forwarding-log.ts";
import {
  type CommitResult,
  isCompacted,
  type LogWrite,
  OutcomeUnknown,
  Unavailable,
  type Unversioned,
} from "./log-store.ts";
import { SharedLog } from "./shared-log-for-tests.ts";
import { pods, putText, Recorder, settle, storeContract, textOf } from "./store.contract.ts";
import { toUnversioned } from "./versioned-value.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

storeContract({
  name: "a log that servers share",
  open: (options) => LogWatchCache.open(new SharedLog().open(), options),
  hasLog: true,
  keepsTime: false,
  keepsNotes: false,
});

const podA = `${pods}shop/a`;
const podB = `${pods}shop/b`;

const value = (text: string): Unversioned => toUnversioned(`${text}@`, "@");

async function open(log: SharedLog, historyBytesMax?: number) {
  const store = log.open();
  const clock = new FakeClock();
  const options = { clock, watchRestMsMax: 0, ...(historyBytesMax === undefined ? {} : { historyBytesMax }) };
  return { store, cache: await LogWatchCache.open(store, options) };
}

const textAt = (cache: LogWatchCache, key: string): string | undefined => cache.get(key)?.value.toString();

const isDone = async (waiting: MaybePromise<unknown>): Promise<boolean> => {
  let done = false;
  void Promise.resolve(waiting).then(() => (done = true));
  await settle();
  return done;
};

test("a write of one server is seen by reads and watches of the other", async () => {
  const log = new SharedLog();
  const [a, b] = [await open(log), await open(log)];
  const watcher = await Recorder.open(b.cache, { prefix: pods, after: b.cache.revision });
  const { revision } = await putText(a.cache, podA, 0, "a");
  await b.cache.fresh();
  assert.equal(textAt(b.cache, podA), `a@${revision}`);
  const lost = await b.cache.put(podA, 0, textOf("b"));
  assert.deepEqual([lost.ok, lost.ok || lost.current?.value.toString()], [false, `a@${revision}`]);
  await watcher.until(1);
  assert.deepEqual(watcher.texts, [`ADDED a@${revision}`]);
});

test("the changes of one revision reach every watcher together, however far behind it is", async () => {
  const log = new SharedLog();
  const { cache } = await open(log);
  const keys = Array.from({ length: 1200 }, (_, at) => `${pods}shop/pod-${String(at).padStart(4, "0")}`);
  const start = cache.revision;
  const live = await Recorder.open(cache, { prefix: pods, after: start });
  const revision = log.change(new Map(keys.map((key) => [key, value("x")])));
  await live.until(keys.length);
  // The watch below begins in the middle of the history, whose pages have 500 events.
  log.change(new Map(keys.map((key) => [key, undefined])));
  const late = await Recorder.open(cache, { prefix: pods, after: start });
  await late.until(2 * keys.length);
  for (const { batches } of [live, late]) {
    for (const batch of batches) {
      const last = batch.at(-1)!.revision;
      const ofLast = batch.filter((event) => event.revision === last);
      assert.equal(ofLast.length, keys.length, "a batch ends with all changes of a revision");
    }
  }
  const page = cache.range(pods);
  assert.deepEqual([page.entries.length, page.revision], [0, revision + 1]);
  const before = await cache.rangeAt(pods, { at: revision });
  assert.ok(!isCompacted(before));
  assert.equal(before.entries.length, keys.length);
});

test("a revision without a change of these keys ends the wait for it", async () => {
  const log = new SharedLog();
  const { cache, store } = await open(log);
  store.isCut = true;
  const revision = log.changeElsewhere();
  const waiting = cache.waitFor(revision, 1000);
  assert.equal(await isDone(waiting), false);
  store.isCut = false;
  assert.equal(await waiting, true);
  await cache.fresh();
  assert.equal(cache.revision, revision);
  const watcher = await Recorder.open(cache, { prefix: pods, after: revision });
  const later = log.changeElsewhere();
  assert.equal(watcher.watch.position, later);
});

test("after changes that cannot be read any more the state is read anew, and watches end as compacted", async () => {
  const log = new SharedLog();
  const [a, b] = [await open(log), await open(log)];
  const kept = await putText(a.cache, podA, 0, "kept");
  await putText(a.cache, podB, 0, "gone");
  await b.cache.fresh();
  const entry = b.cache.get(podA)!;
  entry.decoded = "decoded by the layer above";
  const watcher = await Recorder.open(b.cache, { prefix: pods, after: kept.revision });
  b.store.isCut = true;
  await a.cache.remove(podB, a.cache.get(podB)!.revision);
  const made = await putText(a.cache, podB, 0, "anew");
  log.compact(log.revision);
  b.store.isCut = false;
  assert.equal(b.store.reloads, 1);
  assert.equal(watcher.ended, "compacted");
  assert.equal(b.cache.get(podA), entry);
  assert.equal(textAt(b.cache, podB), `anew@${made.revision}`);
  assert.deepEqual(b.cache.digest, a.cache.digest);
  assert.ok(
    isCompacted(await b.cache.watch({ prefix: pods, after: kept.revision, deliver: () => true, ended: () => {} })),
  );
  assert.ok(isCompacted(await b.cache.rangeAt(pods, { at: kept.revision })));
  const again = await Recorder.open(b.cache, { prefix: pods, after: b.cache.revision });
  const next = await putText(a.cache, podA, kept.revision, "next");
  await again.until(1);
  assert.deepEqual(again.texts, [`MODIFIED next@${next.revision}`]);
  const { keys, valueBytes } = b.cache.statistics;
  assert.deepEqual([keys, valueBytes > 0], [2, true]);
});

test("a state that is read anew and has another history keeps no version, as after a backup was restored", async () => {
  const podC = `${pods}shop/c`;
  // A value of the same revision is another one, or its key is.
  for (const key of [podB, podC]) {
    const { cache } = await open(new SharedLog());
    const kept = await putText(cache, podA, 0, "kept");
    const { revision } = await putText(cache, podB, 0, "lost");
    cache.reloaded(
      [
        { key: podA, value: value("kept"), revision: kept.revision },
        { key, value: value("restored"), revision },
      ],
      revision,
    );
    assert.equal(textAt(cache, key), `restored@${revision}`);
    assert.equal(textAt(cache, podA), `kept@${kept.revision}`);
    // Parts of lists are known by their first entry and the revisions of the others.
    assert.notEqual(cache.get(podA), kept);
  }
});

test("an own write is answered although its change was not delivered, or not as its own", async () => {
  const log = new SharedLog();
  const [a, b] = [await open(log), await open(log)];
  a.store.tellsWrites = false;
  const { revision, value: bytes, decoded } = await putText(a.cache, podA, 0, "a");
  assert.equal(bytes.toString(), `a@${revision}`);
  assert.equal(decoded, undefined);
  assert.equal((await a.cache.remove(podA, revision)).ok, true);
  assert.equal(a.cache.get(podA), undefined);
  // The change is lost, and the key has a later version when the state is read again.
  const putting = a.cache.put(podB, 0, textOf("b"));
  const first = b.cache.get(podB)!;
  a.store.isCut = true;
  await b.cache.put(podB, first.revision, textOf("later"));
  log.compact(log.revision);
  a.store.isCut = false;
  const result = await putting;
  assert.ok(result.ok);
  assert.equal(result.entry.revision, first.revision);
  assert.equal(result.entry.value.toString(), `b@${first.revision}`);
});

test("a write whose answer is lost is no refusal, and a log that cannot be reached is none either", async () => {
  const log = new SharedLog();
  const { cache, store } = await open(log);
  store.loses = true;
  await assert.rejects(cache.put(podA, 0, textOf("a")), OutcomeUnknown);
  assert.match(textAt(cache, podA)!, /^a@/);
  store.isCut = true;
  await assert.rejects(cache.put(podB, 0, textOf("b")), Unavailable);
  await assert.rejects(async () => cache.fresh(), Unavailable);
  assert.match(textAt(cache, podA)!, /^a@/);
  assert.equal(cache.failure, undefined);
});

test("of servers that decide on the same state one has its turn, and the others decide again", async () => {
  const log = new SharedLog();
  const caches = await Promise.all([open(log), open(log), open(log)]);
  const given = new Set<number>();
  /** Gives the next free number to a new key, as an allocator does. */
  const allocate = async ({ cache }: Awaited<ReturnType<typeof open>>, key: string): Promise<void> => {
    for (;;) {
      const seen = cache.revision;
      const taken = new Set(cache.range(pods).entries.map((entry) => entry.value.toString().split("@")[0]));
      let number = 0;
      while (taken.has(String(number))) number++;
      // Other servers write between the decision and its write.
      await settle();
      const result = await cache.put(key, 0, textOf(String(number)), { turn: { name: "numbers", seen } });
      if (!result.ok) {
        assert.equal(result.failed, "turn");
        continue;
      }
      assert.ok(!given.has(number), `${number} is given once`);
      given.add(number);
      return;
    }
  };
  const work = caches.map(async (server, at) => {
    for (let round = 0; round < 20; round++) await allocate(server, `${pods}shop/${at}-${round}`);
  });
  await Promise.all(work);
  assert.equal(given.size, 60);
});

test("the end of a key that was never shown changes nothing", async () => {
  const log = new SharedLog();
  const { cache } = await open(log);
  const watcher = await Recorder.open(cache, { prefix: pods, after: cache.revision });
  const revision = log.change(new Map([[podA, undefined]]));
  assert.equal(cache.revision, revision);
  await putText(cache, podB, 0, "b");
  await watcher.until(1);
  assert.deepEqual(cache.statistics.keys, 1);
});

test("a deletion has the revision of its result, although the event of another one was taken for its own", async () => {
  const shared = new SharedLog();
  class MisledLog extends ForwardingLog {
    override async commit(write: LogWrite): Promise<CommitResult> {
      const result = await super.commit(write);
      return write.value === undefined
        ? { committed: true, revision: shared.change(new Map([[podB, value("b")]])) }
        : result;
    }
  }
  const cache = await LogWatchCache.open(new MisledLog(shared.open()), { clock: new FakeClock() });
  const { revision } = await putText(cache, podA, 0, "a");
  const deleted = await cache.remove(podA, revision);
  assert.ok(deleted.ok);
  assert.deepEqual([deleted.entry.revision, shared.revision], [revision + 2, revision + 2]);
});
