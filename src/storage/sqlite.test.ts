/** Tests that the durable store keeps every promise of `WatchCache`, and its own about files, faults and restarts. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";

import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";

import { storeContract, pods, putText, Recorder, settle, textOf, waitUntil } from "./store.contract.ts";
import { isCompacted, StorageFailure, StorageFull } from "./log-store.ts";
import { checkConsistency } from "./consistency-for-tests.ts";
import { restoreBackup } from "./restore.ts";
import { toUnversioned } from "./versioned-value.ts";
import { makeHeadFile } from "./sqlite/head-file.ts";
import { openSqliteStore, type SqliteOptions, type SqliteStore } from "./sqlite.ts";
import type { WatchCache } from "./watch-cache.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-storage-"));
after(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(root, `store-${++folders}`);

// A store that a failed test left open would keep its thread, and the run would not end.
const opened: SqliteStore[] = [];
after(() => Promise.all(opened.map((store) => store.cache.close())));

async function open(dataDir: string, options: Partial<SqliteOptions> = {}): Promise<SqliteStore> {
  const store = await openSqliteStore({ clock: new FakeClock(), compactionIntervalMs: 0, dataDir, ...options });
  opened.push(store);
  return store;
}

storeContract({
  name: "sqlite",
  open: async (options) => (await openSqliteStore({ ...options, dataDir: newFolder() })).cache,
  hasLog: true,
});

const podA = `${pods}shop/a`;

test("everything is there after a restart, and revisions go on where they were [GEN-02]", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir);
  for (let i = 0; i < 200; i++) await putText(store.cache, `${pods}shop/${i}`, 0, "x");
  for (let i = 0; i < 100; i++) await putText(store.cache, `${pods}shop/${i}`, i + 1, "y");
  for (let i = 50; i < 60; i++) await store.cache.remove(`${pods}shop/${i}`, 201 + i);
  const before = store.cache.range("").entries.map((entry) => ({ ...entry, value: entry.value.toString() }));
  const state = before.map(({ key, value, revision }) => ({ key, value, revision }));
  await store.cache.close();
  store = await open(dataDir);
  const again = store.cache.range("");
  assert.deepEqual(
    again.entries.map(({ key, value, revision }) => ({ key, value: value.toString(), revision })),
    state,
  );
  assert.equal(store.cache.revision, 310);
  assert.equal((await putText(store.cache, podA, 0, "next")).revision, 311);
  // History from before the restart can still be read and watched.
  const old = await store.cache.rangeAt(pods, { at: 200 });
  assert(!isCompacted(old));
  assert.equal(old.entries.length, 200);
  assert(old.entries.every((entry) => entry.value.toString().startsWith("x@")));
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: 290 });
  await recorder.until(21);
  assert.equal(recorder.events.filter((event) => event.type === "DELETED").length, 10);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), []);
  await store.cache.close();
});

test("the store's files can be read by their owner only", async () => {
  const dataDir = newFolder();
  const store = await open(dataDir);
  await putText(store.cache, podA, 0, "a");
  const file = join(root, "private.db");
  await store.log.backup(file);
  for (const path of [dataDir, join(dataDir, "store.db"), join(dataDir, "store.db-wal"), file]) {
    assert.equal(statSync(path).mode & 0o077, 0, path);
  }
  await store.cache.close();
});

test("a start that was cut short before there were tables is taken up again", async () => {
  const dataDir = newFolder();
  mkdirSync(dataDir);
  makeHeadFile(dataDir, { state: "new", boot: "", revision: 0, keys: 0, sum: 0, floor: 0 });
  for (const files of [[], ["store.db"], ["store.db", "store.db-wal"]]) {
    const cut = join(root, `cut-short-${files.length}`);
    cpSync(dataDir, cut, { recursive: true });
    for (const file of files) writeFileSync(join(cut, file), "");
    const store = await open(cut);
    assert.equal((await putText(store.cache, podA, 0, "a")).revision, 1);
    await store.cache.close();
  }
});

// The youngest row may be a deletion, which compaction removes: the revision must not decrease.
test("the revision does not go back when the last write was a deletion that was compacted", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir);
  await putText(store.cache, podA, 0, "a");
  await store.cache.remove(podA, 1);
  await store.cache.compact(2);
  await store.cache.close();
  store = await open(dataDir);
  assert.deepEqual([store.cache.revision, store.cache.compactedRevision], [2, 2]);
  assert.equal(store.cache.get(podA), undefined);
  assert.equal((await putText(store.cache, podA, 0, "b")).revision, 3);
  await store.cache.close();
});

test("a write is neither readable nor watched before it is durable", async () => {
  const store = await open(newFolder(), { faults: { commitDelayMs: 30 } });
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: 0 });
  const written = store.cache.put(podA, 0, textOf("a"));
  for (let i = 0; i < 10; i++) {
    await settle();
    if (store.cache.revision > 0) break;
    assert.equal(store.cache.get(podA), undefined);
    assert.equal(recorder.events.length, 0);
    assert.equal(recorder.watch.position, 0);
  }
  assert((await written).ok);
  assert.equal(store.cache.get(podA)?.revision, 1);
  await recorder.until(1);
  await store.cache.close();
});

test("a failed comparison against a write under way waits for its outcome", async () => {
  const store = await open(newFolder(), { faults: { commitDelayMs: 20 } });
  const order: string[] = [];
  const first = store.cache.put(podA, 0, textOf("a")).then((result) => order.push(`first ${result.ok}`));
  const second = store.cache.put(podA, 0, textOf("b")).then((result) => order.push(`second ${result.ok}`));
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first true", "second false"]);
  await store.cache.close();
});

test("writes given before close are durable after it", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir, { faults: { commitDelayMs: 20 } });
  const writes = Array.from({ length: 50 }, (_, i) => store.cache.put(`${pods}shop/${i}`, 0, textOf("x")));
  await store.cache.close();
  assert((await Promise.all(writes)).every((result) => result.ok));
  store = await open(dataDir);
  assert.equal(store.cache.count(pods), 50);
  await store.cache.close();
});

test("after a sync that fails no write is acknowledged, and reads go on", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir, { faults: { failCommit: 3 }, historyBytesMax: 0 });
  const acknowledged: string[] = [];
  let failure: unknown;
  for (let i = 0; i < 20 && failure === undefined; i++) {
    const key = `${pods}shop/${i}`;
    try {
      await putText(store.cache, key, 0, "x".repeat(2000));
      acknowledged.push(key);
    } catch (error) {
      failure = error;
    }
  }
  assert(failure instanceof StorageFailure);
  assert.match(failure.message, /injected/);
  assert.match(store.cache.failure!.message, /injected/);
  const seen = store.cache.revision;
  await assert.rejects(store.cache.put(podA, 0, textOf("a")), StorageFailure);
  await assert.rejects(store.cache.remove(acknowledged[0]!, 1), StorageFailure);
  assert.equal(store.cache.revision, seen);
  assert.deepEqual(
    store.cache
      .range(pods)
      .entries.map((entry) => entry.key)
      .toSorted(),
    acknowledged.toSorted(),
  );
  // The old state can still be read from the log.
  const old = await store.cache.rangeAt(pods, { at: 1 });
  assert.equal(!isCompacted(old) && old.entries.length, 1);
  await store.cache.close();
  store = await open(dataDir);
  for (const key of acknowledged) assert.notEqual(store.cache.get(key), undefined);
  assert((await store.cache.put(podA, 0, textOf("a"))).ok);
  await store.cache.close();
});

test("a file that cannot grow refuses writes, and has all that was acknowledged", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir, { faults: { pagesLeft: 12 } });
  let acknowledged = 0;
  for (; store.cache.full === undefined; acknowledged++) {
    const written = await putText(store.cache, `${pods}shop/${acknowledged}`, 0, "x".repeat(2000)).catch(
      (error: unknown) => error,
    );
    if (written instanceof StorageFull) break;
  }
  assert(acknowledged > 3);
  assert.deepEqual([store.cache.failure, store.cache.revision], [undefined, acknowledged]);
  await store.cache.close();
  store = await open(dataDir);
  assert.deepEqual([store.cache.revision, store.cache.count(pods)], [acknowledged, acknowledged]);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), []);
  await store.cache.close();
});

test("while the disk is full deletions pass and other writes are refused, and these come back by themselves", async () => {
  const dataDir = newFolder();
  const fullWhile = join(root, "full");
  const store = await open(dataDir, { faults: { fullWhile } });
  for (let i = 0; i < 20; i++) await putText(store.cache, `${pods}shop/${i}`, 0, "x");
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: 20 });
  writeFileSync(fullWhile, "");
  const refusal = {
    name: "StorageFailure",
    message: new RegExp(`no space left on the disk of data folder ${dataDir}`),
  };
  // Several commits are pending when the first finds no room, and none of them is half done.
  const writes = Array.from({ length: 300 }, (_, i) =>
    store.cache.put(`${pods}bulk/${i}`, 0, textOf("x".repeat(2000))),
  );
  const outcomes = await Promise.allSettled(writes);
  for (const outcome of outcomes) assert(outcome.status === "rejected" && outcome.reason instanceof StorageFull);
  await assert.rejects(putText(store.cache, podA, 0, "x"), refusal);
  assert.match(store.cache.full!.message, refusal.message);
  assert.deepEqual([store.cache.failure, store.cache.revision, store.cache.count(pods)], [undefined, 20, 20]);
  for (let i = 0; i < 10; i++) assert((await store.cache.remove(`${pods}shop/${i}`, i + 1)).ok);
  assert.deepEqual([store.cache.revision, store.cache.count(pods)], [30, 10]);
  assert.equal(existsSync(join(dataDir, "store.reserve")), false, "deletions have its room");
  await assert.rejects(putText(store.cache, podA, 0, "x"), refusal);

  rmSync(fullWhile);
  await waitUntil(() => store.cache.full === undefined);
  assert.equal(existsSync(join(dataDir, "store.reserve")), true);
  assert.equal((await putText(store.cache, podA, 0, "x")).revision, 31);
  await recorder.until(11);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), []);
  await store.cache.close();
  const again = await open(dataDir);
  assert.deepEqual([again.cache.revision, again.cache.count(pods), again.log.notice], [31, 11, undefined]);
  await again.cache.close();
});

test("a disk that is full now and then costs no acknowledged write, and no revision is skipped", async () => {
  const dataDir = newFolder();
  const fullWhile = join(root, "full-now-and-then");
  const store = await open(dataDir, { faults: { fullWhile, segmentRows: 50 } });
  const random = seededRandom(3);
  const acknowledged = new Map<string, number>();
  let isDone = false;
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let i = 0; !isDone; i++) {
      const key = `${pods}w${writer}/${i % 7}`;
      try {
        const entry = await putText(store.cache, key, store.cache.get(key)?.revision ?? 0, "x".repeat(i % 500));
        acknowledged.set(key, entry.revision);
      } catch (error) {
        assert(error instanceof StorageFull, String(error));
        await settle();
      }
    }
  });
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 20 + random.next() * 50; i++) await settle();
    writeFileSync(fullWhile, "");
    await waitUntil(() => store.cache.full !== undefined);
    rmSync(fullWhile);
    await waitUntil(() => store.cache.full === undefined);
  }
  isDone = true;
  await Promise.all(writers);
  assert.deepEqual(await checkConsistency(store, seededRandom(1)), []);
  const { revision } = store.cache;
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: store.cache.compactedRevision });
  await recorder.until(revision - store.cache.compactedRevision);
  await store.cache.close();
  const again = await open(dataDir);
  assert.equal(again.cache.revision, revision);
  for (const [key, at] of acknowledged) assert.equal(again.cache.get(key)?.revision, at, key);
  await again.cache.close();
});

test("writers that wait for each other all learn of a failure", async () => {
  const store = await open(newFolder(), { faults: { failCommit: 1, commitDelayMs: 10 } });
  const outcomes = await Promise.allSettled([
    store.cache.put(podA, 0, textOf("a")),
    store.cache.put(podA, 0, textOf("b")),
    store.cache.put(podA, 1, textOf("c")),
    store.cache.remove(podA, 2),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ["rejected", "rejected", "rejected", "rejected"],
  );
  assert.equal(store.cache.get(podA), undefined);
  await store.cache.close();
});

test("a second process on the same folder is refused, with a reason", async () => {
  const dataDir = newFolder();
  const store = await open(dataDir);
  await putText(store.cache, podA, 0, "a");
  await assert.rejects(open(dataDir), /in use by another process/);
  const script = `import { openSqliteStore } from ${JSON.stringify(import.meta.resolve("./sqlite.ts"))};
    import { systemClock } from ${JSON.stringify(import.meta.resolve("#std/clock.ts"))};
    await openSqliteStore({ clock: systemClock, dataDir: ${JSON.stringify(dataDir)} }).then(
      () => process.exit(0), (error) => { console.log(error.message); process.exit(3); });`;
  const other = spawnSync(process.execPath, ["--conditions=source", "--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(other.status, 3, other.stderr);
  assert.match(other.stdout, /in use by another process/);
  await putText(store.cache, podA, 1, "b");
  await store.cache.close();
  await (await open(dataDir)).cache.close();
});

test("a damaged file is reported and left as it is", async () => {
  const source = newFolder();
  const store = await open(source);
  for (let i = 0; i < 300; i++) await putText(store.cache, `${pods}shop/${i}`, 0, "x".repeat(500));
  await store.cache.close();
  const file = "store.db";
  const size = statSync(join(source, file)).size;
  const damages: [string, (path: string) => void][] = [
    ["a byte of a value", (path) => writeSync(openSync(path, "r+"), "?", Math.floor(size / 2) + 100)],
    ["a page of zeros", (path) => writeSync(openSync(path, "r+"), Buffer.alloc(4096), 0, 4096, 4096 * 20)],
    ["a lost tail", (path) => truncateSync(path, size - 8192)],
    ["a lost header", (path) => writeSync(openSync(path, "r+"), Buffer.alloc(100), 0, 100, 0)],
    ["no database at all", (path) => writeFileSync(path, "hello, I am a text file\n".repeat(400))],
  ];
  for (const [name, damage] of damages) {
    const dataDir = newFolder();
    cpSync(source, dataDir, { recursive: true });
    damage(join(dataDir, file));
    const before = readFileSync(join(dataDir, file));
    await assert.rejects(open(dataDir), StorageFailure, name);
    assert(readFileSync(join(dataDir, file)).equals(before), `${name}: unchanged`);
  }
});

test("a file of another layout is refused with both numbers, and left as it is", async () => {
  const dataDir = newFolder();
  await (await open(dataDir)).cache.close();
  const file = join(dataDir, "store.db");
  for (const layout of [5, 77]) {
    // The user version lies at byte 60 of the header.
    writeSync(openSync(file, "r+"), Buffer.from([0, 0, 0, layout]), 0, 4, 60);
    const before = readFileSync(file);
    await assert.rejects(open(dataDir), new RegExp(`layout ${layout}, and this program reads layout 6 only`));
    assert(readFileSync(file).equals(before));
  }
});

test("one client's write is committed at once, and writes of one turn share a commit", async () => {
  const sizes: number[] = [];
  const store = await open(newFolder(), { observe: { commit: (writes) => sizes.push(writes) } });
  const put = (name: string): Promise<unknown> => putText(store.cache, `${pods}shop/${name}`, 0, "x");
  await Promise.all([put("a"), put("b")]);
  await put("c");
  // No write is pending: the first one does not wait for the others.
  await Promise.all([put("d"), put("e"), put("f")]);
  await Promise.all([put("g"), put("h")]);
  assert.deepEqual(sizes, [2, 1, 1, 2, 2]);
});

test("commits of any size arrive, and in their order", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir);
  const sizes = [10, 300_000, 10, 1_500_000, 200_000, 200_000, 10, 10, 700_000, 10];
  const writes: Promise<unknown>[] = [];
  for (const [i, size] of sizes.entries()) {
    writes.push(store.cache.put(podA, i, textOf("x".repeat(size))));
    if (i % 3 === 0) await settle();
  }
  await Promise.all(writes);
  for (const [i, size] of sizes.entries()) {
    const range = await store.cache.rangeAt(podA, { at: i + 1 });
    assert(!isCompacted(range));
    assert.equal(range.entries[0]?.value.length, size + `@${i + 1}`.length);
  }
  await store.cache.close();
  store = await open(dataDir);
  assert.deepEqual(await checkConsistency(store, seededRandom(5)), []);
  assert.equal(store.cache.revision, sizes.length);
  await store.cache.close();
});

test("questions and a close between commits leave the commits under way alone", async () => {
  const dataDir = newFolder();
  const store = await open(dataDir, { faults: { commitDelayMs: 30 } });
  const writes: Promise<unknown>[] = [];
  const write = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      writes.push(putText(store.cache, `${pods}shop/${writes.length}`, 0, "x".repeat(writes.length)));
      await settle();
    }
  };
  // Two commits are pending, and more wait for one of them.
  await write(4);
  const digest = store.log.digest(1);
  await write(4);
  const closed = store.cache.close();
  await Promise.all([...writes, digest, closed]);
  const again = await open(dataDir);
  assert.equal(again.cache.revision, 8);
  for (let i = 0; i < 8; i++)
    assert.equal(again.cache.get(`${pods}shop/${i}`)?.value.toString(), `${"x".repeat(i)}@${i + 1}`);
  await again.cache.close();
});

/** Writes `count` times to `keys` keys in turn. */
async function overwrite(cache: WatchCache, count: number, keys: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const key = `${pods}shop/${i % keys}`;
    await putText(cache, key, cache.get(key)?.revision ?? 0, "x".repeat(500));
  }
}

test("a key that expires does so after a restart, too", async () => {
  const dataDir = newFolder();
  const clock = new FakeClock();
  let store = await open(dataDir, { clock });
  await store.cache.put(podA, 0, textOf("short"), { ttlSeconds: 60 });
  await store.cache.put(`${pods}shop/b`, 0, textOf("long"), { ttlSeconds: 3600 });
  await store.cache.close();
  clock.advance(120_000);
  store = await open(dataDir, { clock });
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: 2 });
  clock.advance(1000);
  await recorder.until(1);
  assert.deepEqual(recorder.texts, ["DELETED short@3"]);
  assert.equal(store.cache.count(pods), 1);
  await store.cache.close();
});

test("compaction gives space back and survives a restart", async () => {
  const dataDir = newFolder();
  let store = await open(dataDir);
  const writes: Promise<unknown>[] = [];
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 200; i++) {
      const key = `${pods}shop/${i}`;
      writes.push(store.cache.put(key, round === 0 ? 0 : (round - 1) * 200 + i + 1, textOf("x".repeat(1000))));
    }
  }
  await Promise.all(writes);
  assert.equal(store.cache.revision, 4000);
  await store.cache.compact(3900);
  assert.deepEqual(await checkConsistency(store, seededRandom(2)), []);
  const old = await store.cache.rangeAt(pods, { at: 3900 });
  assert.equal(!isCompacted(old) && old.entries.length, 200);
  await store.cache.close();
  assert(statSync(join(dataDir, "store.db")).size < 2_000_000);
  store = await open(dataDir);
  assert.equal(store.cache.compactedRevision, 3900);
  assert.deepEqual(await store.cache.rangeAt(pods, { at: 3899 }), { compacted: 3900 });
  const recorder = await Recorder.open(store.cache, { prefix: pods, after: 3900 });
  await recorder.until(100);
  await store.cache.close();
});

test("a log is compacted by what it holds, though no process lived long enough to do it by time", async () => {
  const dataDir = newFolder();
  const historyBytesMax = 200_000;
  const faults = { segmentRows: 50 };
  const log = join(dataDir, "store.db");
  const grow = async (): Promise<number> => {
    const store = await open(dataDir, { historyBytesMax, compactionIntervalMs: 300_000, faults });
    await overwrite(store.cache, 1000, 20);
    await store.log.digest(1);
    const { compactedRevision } = store.cache;
    await store.cache.close();
    return compactedRevision;
  };
  assert.equal(await grow(), 0, "half a megabyte is little");
  const compacted = await grow();
  assert(compacted > 500 && compacted < 1000, `compacted to ${compacted} when it was opened at 1000`);
  for (let life = 0; life < 4; life++) await grow();
  assert(statSync(log).size < 2_500_000, `${statSync(log).size} bytes after 6,000 writes of 500`);

  // The log of a process that runs for long is bounded as well.
  const store = await open(dataDir, { historyBytesMax: 50_000, compactionIntervalMs: 300_000, faults });
  await overwrite(store.cache, 3000, 20);
  assert(store.cache.compactedRevision > 6000, `compacted to ${store.cache.compactedRevision}`);
  assert.deepEqual(await checkConsistency(store, seededRandom(6)), []);
  await store.cache.close();
});

test("a backup made under load is one point in time, and a store restored from it is ahead of the old one", async () => {
  const dataDir = newFolder();
  const store = await open(dataDir, { clock: new FakeClock() });
  // Two keys are always written in the same order: a copy may show the first ahead by one, never the second.
  let isDone = false;
  const first = `${pods}shop/1`;
  const second = `${pods}shop/2`;
  for (let i = 0; i < 2000; i++) await putText(store.cache, `${pods}bulk/${i}`, 0, "x".repeat(500));
  const load = (async () => {
    for (let i = 0; !isDone; i++) {
      await putText(store.cache, first, store.cache.get(first)?.revision ?? 0, String(i));
      await putText(store.cache, second, store.cache.get(second)?.revision ?? 0, String(i));
    }
  })();
  const early = store.cache.revision;
  const file = join(root, "backup.db");
  const shown = await store.log.backup(file);
  const late = store.cache.revision;
  isDone = true;
  await load;
  await assert.rejects(store.log.backup(file), /exists already/);
  await assert.rejects(restoreBackup({ backupFile: file, dataDir }), /exists already/);
  await store.cache.close();

  const restoredDir = newFolder();
  const restored = await restoreBackup({ backupFile: file, dataDir: restoredDir, revisionStep: 1_000_000 });
  assert(restored.revision > late);
  assert.equal(restored.revision, shown + 1_000_000, "the backup is of the revision it names");
  assert(shown >= early && shown <= late);
  assert.equal(existsSync(`${file}-wal`), false);
  const copy = await open(restoredDir);
  assert.equal(copy.cache.revision, restored.revision);
  assert.equal(copy.cache.compactedRevision, restored.revision);
  assert.equal(copy.cache.count(`${pods}bulk/`), 2000);
  const numberOf = (key: string): number => Number(copy.cache.get(key)?.value.toString().split("@")[0] ?? -1);
  assert([0, 1].includes(numberOf(first) - numberOf(second)));
  // Watchers of the lost store must start over, from every revision.
  for (const known of [1, early, late, late + 5000]) {
    const answer = await copy.cache.watch({ prefix: pods, after: known, deliver: () => true, ended: () => undefined });
    assert(isCompacted(answer));
  }
  const entry = await putText(copy.cache, podA, 0, "new");
  assert(entry.revision > restored.revision);
  const recorder = await Recorder.open(copy.cache, { prefix: pods, after: restored.revision });
  await recorder.until(1);
  assert.deepEqual(await checkConsistency(copy, seededRandom(3)), []);
  await copy.cache.compact(copy.cache.revision);
  assert.deepEqual(await checkConsistency(copy, seededRandom(4)), []);
  await copy.cache.close();
  await assert.rejects(restoreBackup({ backupFile: join(root, "absent"), dataDir: newFolder() }), /does not exist/);
});

test("a file that is not a backup is not restored", async () => {
  const bogus = join(root, "bogus.db");
  writeFileSync(bogus, "not a database, by any means".repeat(100));
  const dataDir = newFolder();
  const empty = join(root, "empty.db");
  writeFileSync(empty, "");
  const foreign = join(root, "foreign.db");
  new DatabaseSync(foreign).exec("CREATE TABLE t (x)");
  const blank = join(root, "blank.db");
  new DatabaseSync(blank).exec("PRAGMA user_version = 0; CREATE TABLE t (x); DROP TABLE t");
  for (const [backupFile, reason] of [
    [bogus, "is damaged, or no backup"],
    [empty, "is empty, and no backup"],
    [blank, "is empty, and no backup"],
    [foreign, "is not a store of this program"],
    [root, "is no file"],
  ] as const) {
    const unmade = join(root, "unmade");
    await assert.rejects(restoreBackup({ backupFile, dataDir: join(unmade, "data") }), {
      name: "StorageFailure",
      message: `${backupFile} ${reason}`,
    });
    assert.equal(existsSync(unmade), false, "nothing is left behind");
  }
  for (const unusable of [bogus, join(bogus, "below")]) {
    await assert.rejects(restoreBackup({ backupFile: bogus, dataDir: unusable }), StorageFailure);
  }
  assert.equal(existsSync(join(dataDir, "store.db")), false);
  await (await open(dataDir)).cache.close();
});

test("the consistency check notices a log that differs from memory", async () => {
  const dataDir = newFolder();
  const store = await open(dataDir);
  for (let i = 0; i < 20; i++) await putText(store.cache, `${pods}shop/${i}`, 0, "x");
  assert.deepEqual(await checkConsistency(store, seededRandom(5)), []);
  // A store that answers with wrong bytes.
  const log: SqliteStore["log"] = Object.assign(Object.create(store.log) as SqliteStore["log"], {
    entriesAt: async (revisions: readonly number[]) =>
      (await store.log.entriesAt(revisions)).map((entry) =>
        entry === undefined ? undefined : { ...entry, value: toUnversioned("?", "") },
      ),
    digest: async (revision: number) => {
      const { keys, sum } = await store.log.digest(revision);
      return { keys: keys + 1, sum };
    },
  });
  assert((await checkConsistency({ ...store, log }, seededRandom(6))).length >= 2);
  await store.cache.close();
});
