/** The history of single keys in a durable store, which goes further back than the revisions that reads may ask for. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { isCompacted, type Revision } from "./log-store.ts";
import { openSqliteStore, type SqliteOptions, type SqliteStore } from "./sqlite.ts";
import { pods, putText, textOf, waitUntil } from "./store.contract.ts";
import type { VersionReader } from "./watch-cache.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-kept-history-"));
after(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

interface Subject extends SqliteStore {
  readonly clock: FakeClock;
  readonly dataDir: string;
}

// A store that a failed test left open would keep its thread, and the run would not end.
const opened: SqliteStore[] = [];
after(() => Promise.all(opened.map((store) => store.cache.close())));

async function open(options: Partial<SqliteOptions> & { clock?: FakeClock } = {}): Promise<Subject> {
  const { clock = new FakeClock(), dataDir = join(root, `store-${++folders}`) } = options;
  const store = await openSqliteStore({ retention: { ms: hourMs, bytes: undefined }, ...options, clock, dataDir });
  opened.push(store);
  return { ...store, clock, dataDir };
}

const podA = `${pods}shop/a`;
const podB = `${pods}shop/b`;

/** Returns all versions of a key as `revision text`, newest first, read in pages. */
async function versions(reader: VersionReader, key: string, limit = 3): Promise<string[]> {
  const lines: string[] = [];
  let before: Revision | undefined;
  for (;;) {
    const past = await reader.versions(key, before, limit);
    for (const { revision, entry } of past.versions) lines.push(`${revision} ${entry?.value.toString() ?? "deleted"}`);
    if (past.next === 0) return lines;
    before = past.next;
  }
}

/** Waits until a key has these versions: old ones are dropped in small steps. */
async function until(reader: VersionReader, key: string, expected: readonly string[]): Promise<void> {
  await waitUntil(async () => (await versions(reader, key)).length === expected.length);
  assert.deepEqual(await versions(reader, key), expected);
}

/** Advances the clock until the timers that follow one another have all fired, and their work is done. */
async function advance({ clock, log }: Subject, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= minuteMs) {
    clock.advance(Math.min(left, minuteMs));
    for (let i = 0; i < 5; i++) await turn();
    await log.entriesAt([]);
  }
}

test("every version of a key is kept for the time, deletions and earlier objects of the name included", async () => {
  const store = await open();
  const { cache } = store;
  await putText(cache, podA, 0, "one");
  await putText(cache, podB, 0, "other");
  await putText(cache, podA, 1, "two");
  await cache.remove(podA, 3);
  await putText(cache, podA, 0, "three");
  const all = ["5 three@5", "4 deleted", "3 two@3", "1 one@1"];
  assert.deepEqual(await versions(cache, podA), all);
  await advance(store, 30 * minuteMs);
  // Reads go back five minutes, as without retention.
  assert.equal(cache.compactedRevision, 5);
  assert(isCompacted(await cache.rangeAt(pods, { at: 3 })));
  assert.deepEqual(await versions(cache, podA, 1), all);
  await cache.close();
});

test("versions that were replaced longer ago are removed, also when nothing is written", async () => {
  const store = await open();
  const { cache } = store;
  await putText(cache, podA, 0, "one");
  await putText(cache, podA, 1, "two");
  await putText(cache, podB, 0, "other");
  await cache.remove(podB, 3);
  await advance(store, 40 * minuteMs);
  await putText(cache, podA, 2, "three");
  await advance(store, 30 * minuteMs);
  await until(cache, podA, ["5 three@5", "2 two@2"]);
  await until(cache, podB, []);
  assert.equal((await cache.versions(podA, undefined, 1)).since, 4);
  await advance(store, 40 * minuteMs);
  await until(cache, podA, ["5 three@5"]);
  await cache.close();
});

test("the history and its times outlast a restart", async () => {
  const before = await open();
  const { clock, dataDir } = before;
  const start = clock.now();
  await putText(before.cache, podA, 0, "one");
  await advance(before, 10 * minuteMs);
  await putText(before.cache, podA, 1, "two");
  await before.cache.remove(podA, 2);
  await before.cache.close();
  clock.advance(10 * minuteMs);
  const store = await open({ clock, dataDir });
  assert.deepEqual(await versions(store.cache, podA), ["3 deleted", "2 two@2", "1 one@1"]);
  const { versions: found } = await store.cache.versions(podA, undefined, 3);
  const minutes = found.map(({ writtenAt }) => Math.round(((writtenAt ?? 0) - start) / minuteMs));
  assert.deepEqual(minutes, [10, 10, 0]);
  // The first version was the current one until ten minutes after the start.
  await advance(store, 45 * minuteMs);
  assert.equal((await versions(store.cache, podA)).length, 3);
  await advance(store, 15 * minuteMs);
  await until(store.cache, podA, []);
  await store.cache.close();
});

/** Waits until about a megabyte of versions of 4 KiB is kept. */
async function untilAMegabyteIsKept({ cache }: Pick<Awaited<ReturnType<typeof open>>, "cache">): Promise<void> {
  let kept = Number.POSITIVE_INFINITY;
  await waitUntil(async () => {
    kept = (await versions(cache, podA, 50)).length;
    return kept >= 100 && kept <= 450;
  });
  assert.ok(kept >= 100 && kept <= 450, `${kept} versions are kept`);
}

test("history has at most about the size it was given", async () => {
  const bytes = 1024 * 1024;
  const store = await open({
    retention: { ms: undefined, bytes },
    historyBytesMax: 64 * 1024,
    faults: { segmentRows: 64 },
  });
  const text = "x".repeat(4096);
  let revision = 0;
  for (let i = 0; i < 1500; i++) ({ revision } = await putText(store.cache, podA, revision, text));
  await untilAMegabyteIsKept(store);
  await store.cache.close();
});

test("a small history leaves readers what they may go back to", async () => {
  const bytes = 1024 * 1024;
  const store = await open({ retention: { ms: undefined, bytes }, faults: { segmentRows: 64 } });
  const text = "x".repeat(4096);
  let revision = 0;
  for (let i = 0; i < 1000; i++) ({ revision } = await putText(store.cache, podA, revision, text));
  await store.log.entriesAt([]);
  assert.equal(store.cache.compactedRevision, 0);
  assert.equal((await versions(store.cache, podA, 50)).length, 1000);
  await advance(store, 12 * minuteMs);
  await untilAMegabyteIsKept(store);
  await store.cache.close();
});

test("all old versions can be dropped at once, and the disk space is given back", async () => {
  const store = await open();
  let revision = 0;
  for (let i = 0; i < 400; i++) ({ revision } = await putText(store.cache, podA, revision, "x".repeat(20_000)));
  await store.log.entriesAt([]);
  const { revision: reached, bytes } = await store.log.drop({ revision: revision - 1 });
  assert.equal(reached, revision - 1);
  assert.ok(bytes > 4_000_000, `${bytes} bytes`);
  assert.equal((await versions(store.cache, podA)).length, 2);
  assert.ok(statSync(join(store.dataDir, "store.db")).size < 1_000_000);
  const { revision: asked } = await store.log.drop({ at: 0 });
  assert.equal(asked, 0);
  await store.cache.close();
});

test("without a time to keep history, versions go when readers may no longer go back to them", async () => {
  const store = await open({ retention: undefined });
  await putText(store.cache, podA, 0, "one");
  await putText(store.cache, podA, 1, "two");
  assert.deepEqual(await versions(store.cache, podA), ["2 two@2", "1 one@1"]);
  await advance(store, 20 * minuteMs);
  await until(store.cache, podA, ["2 two@2"]);
  await store.cache.close();
});

/** A value that a key had from a revision on. */
interface Written {
  readonly revision: Revision;
  readonly text: string;
  /** The revision of the next value; infinite for the newest. */
  replacedAt: number;
}

/** Returns the versions that must be kept when everything that was replaced up to `since` is gone. */
const revisionsSince = (all: readonly Written[], since: Revision): string[] =>
  all
    .filter(({ revision, text, replacedAt }) => (text === "deleted" ? revision > since : replacedAt > since))
    .map(({ revision, text }) => `${revision} ${text}`)
    .reverse();

for (const seed of [1, 2, 3]) {
  test(`the history is what was written, whatever is dropped meanwhile (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const below = (count: number): number => Math.floor(random.next() * count);
    let store = await open({ faults: { segmentRows: 16 } });
    const { clock, dataDir } = store;
    const model = new Map<string, Written[]>();
    for (let step = 0; step < 400; step++) {
      const key = `${pods}shop/${below(6)}`;
      const all = model.get(key) ?? [];
      model.set(key, all);
      const newest = all.at(-1);
      const isThere = newest !== undefined && newest.text !== "deleted";
      const expected = isThere ? newest.revision : 0;
      const choice = below(20);
      if (choice === 0) await advance(store, below(20) * minuteMs);
      else if (choice === 1) await store.log.drop({ revision: below(store.cache.revision + 1) });
      else if (choice === 2 && step % 5 === 0) {
        await store.cache.close();
        store = await open({ clock, dataDir, faults: { segmentRows: 16 } });
      } else {
        const isDeletion = isThere && choice < 6;
        const result = isDeletion
          ? await store.cache.remove(key, expected)
          : await store.cache.put(key, expected, textOf(`${step}`));
        assert(result.ok);
        const { revision } = result.entry;
        if (newest !== undefined && isThere) newest.replacedAt = revision;
        const text = isDeletion ? "deleted" : `${step}@${revision}`;
        all.push({ revision, text, replacedAt: isDeletion ? revision : Number.POSITIVE_INFINITY });
      }
      const { since: before } = await store.cache.versions(key, undefined, 1);
      const found = await versions(store.cache, key, 1 + below(4));
      const { since } = await store.cache.versions(key, undefined, 1);
      const least = revisionsSince(all, since);
      const most = new Set(revisionsSince(all, before));
      assert.ok(
        found.every((text) => most.has(text)),
        `step ${step}: ${found.join()} of ${[...most].join()}`,
      );
      assert.deepEqual(found.slice(0, least.length), least, `step ${step}`);
    }
    await store.cache.close();
  });
}
