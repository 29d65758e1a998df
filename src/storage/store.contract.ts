/**
 * The contract of every cache, whatever log it uses. Each implementation's test calls `storeContract`. Comments name
 * the faults of other stores that a test would catch. Each test has its revisions from `base` on, the last one before its
 * first write, since a log may begin at any; `a@2` is what was written as `a` two revisions after it.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";

import { isCompacted, type Revision, StorageFailure } from "./log-store.ts";
import type { LocalStoreOptions } from "./memory.ts";
import { toUnversioned, withoutRevision } from "./versioned-value.ts";
import type {
  Encoded,
  Entry,
  PastChanges,
  Range,
  StoreEvent,
  VersionReader,
  Watch,
  WatchCache,
  WatchOptions,
  WriteResult,
} from "./watch-cache.ts";

interface ContractSubject {
  readonly name: string;
  /** Opens a new, empty store. */
  readonly open: (options: LocalStoreOptions) => Promise<WatchCache & VersionReader>;
  /** Whether reads at old revisions are answered when memory no longer has them. */
  readonly hasLog: boolean;
  /** Whether keys expire, and history is compacted, by the clock of the test; true by default. Others have their own. */
  readonly keepsTime?: boolean;
  /** Whether it keeps the notes of deletions; true by default. */
  readonly keepsNotes?: boolean;
}

/** Makes bytes that name the revision at which they are read. */
export const textOf = (text: string): Encoded => ({ ...toUnversioned(`${text}@`, "@"), decode: () => text });

const beforeRevision = '"resourceVersion":"';

/** Makes an object that names the revision at which it is read, in JSON, where every log finds the place of it. */
const objectOf = (text: string): Encoded => ({
  ...toUnversioned(`{"text":"${text}",${beforeRevision}"}\n`, beforeRevision),
  decode: () => text,
});

/** Returns the text of an object with its revision, counted from `base`. */
function textAfter(base: Revision, { value }: Pick<Entry, "value">): string {
  const { text, resourceVersion } = JSON.parse(value.toString()) as Record<string, string>;
  return `${text}@${Number(resourceVersion) - base}`;
}

/** Returns the revision of the write with this number, of which the first is 1; 0 stays 0, for no such key. */
const revisionAfter = (base: Revision, count: number): Revision => (count === 0 ? 0 : base + count);

/** Makes bytes that are the same at every revision. */
const bytesOf = (bytes: Uint8Array): Encoded => ({ ...withoutRevision(bytes), decode: () => undefined });

export const pods = "/registry//pods/";
const podA = `${pods}shop/a`;
const podB = `${pods}shop/b`;
const podC = `${pods}test/c`;

/** The events that a watcher got. */
export class Recorder {
  readonly batches: (readonly StoreEvent[])[] = [];
  ended: string | undefined;
  /** The answer of the next `deliver`. */
  accepts = true;
  watch!: Watch;

  get events(): StoreEvent[] {
    return this.batches.flat();
  }

  /** The events as short text: `ADDED a@3`. */
  get texts(): string[] {
    return this.events.map((event) => `${event.type} ${event.entry.value.toString()}`);
  }

  /** The events as short text, where their entries are objects: `ADDED a@3`, with revisions counted from `base`. */
  textsAfter(base: Revision): string[] {
    return this.events.map(({ type, entry }) => `${type} ${textAfter(base, entry)}`);
  }

  static async open(cache: WatchCache, options: Omit<WatchOptions, "deliver" | "ended">): Promise<Recorder> {
    const recorder = new Recorder();
    const watch = await cache.watch({
      ...options,
      deliver: (events) => {
        recorder.batches.push(events);
        return recorder.accepts;
      },
      ended: (reason) => {
        recorder.ended = reason;
      },
    });
    assert(!isCompacted(watch), "the watch should not be compacted");
    recorder.watch = watch;
    return recorder;
  }

  /** Waits until the watcher was given this many events, or ended. */
  async until(count: number): Promise<void> {
    await waitUntil(() => this.events.length >= count || this.ended !== undefined);
    assert.equal(this.events.length, count);
  }
}

/** The maximum time that a test waits before it gives up. */
const patienceMs = 120_000;

/** Runs turns of the loop until `isDone`, with extra time for slow machines. */
export async function waitUntil(isDone: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isDone()) && Date.now() < deadline) await turn();
}

/** Runs turns of the loop until all work without other threads is done. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await turn();
}

export const putText = (cache: WatchCache, key: string, expected: Revision, text: string): Promise<Entry> =>
  putEncoded(cache, key, expected, textOf(text));

const putObject = (cache: WatchCache, key: string, expected: Revision, text: string): Promise<Entry> =>
  putEncoded(cache, key, expected, objectOf(text));

async function putEncoded(cache: WatchCache, key: string, expected: Revision, encoded: Encoded): Promise<Entry> {
  const result = await cache.put(key, expected, encoded);
  assert(result.ok, `put of ${key} should succeed`);
  return result.entry;
}

function texts(range: Range | { compacted: Revision }, base: Revision): string[] {
  assert(!isCompacted(range));
  return range.entries.map((entry) => textAfter(base, entry));
}

/** The reason why tests of time are skipped. */
const ownTime = "the log does not go by the clock of the test";

export function storeContract(subject: ContractSubject): void {
  const { keepsTime = true } = subject;
  /** Registers a test that runs `body` with a fresh store and closes it. */
  const check = (
    name: string,
    body: (cache: WatchCache & VersionReader, base: Revision, clock: FakeClock) => Promise<void>,
    options: Partial<LocalStoreOptions> = {},
  ): void => {
    test(name, async () => {
      const clock = new FakeClock();
      const cache = await subject.open({ clock, compactionIntervalMs: 0, ...options });
      try {
        await body(cache, cache.revision, clock);
      } finally {
        await cache.close();
      }
    });
  };

  describe(`${subject.name}: writes`, () => {
    check("a key is created only when it is absent", async (cache, base) => {
      const entry = await putObject(cache, podA, 0, "a");
      assert.equal(entry.revision, base + 1);
      assert.equal(entry.created, base + 1);
      assert.equal(entry.decoded, "a");
      assert.equal(textAfter(base, entry), "a@1");
      const second = await cache.put(podA, 0, objectOf("again"));
      assert.deepEqual([second.ok, second.ok || second.current?.revision], [false, base + 1]);
    });

    check("an update needs the latest revision and keeps the revision of creation", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      const second = await putObject(cache, podA, base + 1, "b");
      assert.deepEqual([second.revision, second.created], [base + 2, base + 1]);
      const stale = await cache.put(podA, base + 1, objectOf("c"));
      assert.equal(!stale.ok && stale.current?.revision, base + 2);
      const future = await cache.put(podA, base + 3, objectOf("c"));
      assert.equal(!future.ok && future.current?.revision, base + 2);
      const absent = await cache.put(podB, base + 7, objectOf("c"));
      assert.deepEqual(absent, { ok: false, current: undefined, failed: "key" });
      assert.equal(cache.revision, base + 2);
    });

    check("a removal needs the latest revision, and takes a revision of its own", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      const stale = await cache.remove(podA, base + 9);
      assert.equal(!stale.ok && stale.current?.revision, base + 1);
      const removed = await cache.remove(podA, base + 1);
      assert(removed.ok);
      assert.equal(textAfter(base, removed.entry), "a@2");
      assert.equal(removed.entry.created, base + 1);
      assert.equal(cache.get(podA), undefined);
      assert.equal(cache.revision, base + 2);
      assert.deepEqual(await cache.remove(podA, base + 1), { ok: false, current: undefined, failed: "key" });
      assert.deepEqual(await cache.remove(podA, 0), { ok: false, current: undefined, failed: "key" });
    });

    check("a key made anew has a new revision of creation", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      await cache.remove(podA, base + 1);
      const again = await putObject(cache, podA, 0, "b");
      assert.deepEqual([again.revision, again.created], [base + 3, base + 3]);
    });

    check(
      "the view is made once, when the write has its revision, and not for a failed comparison",
      async (cache, base) => {
        const calls: Revision[] = [];
        const encoded: Encoded = {
          ...withoutRevision(Buffer.from("x")),
          decode(revision) {
            calls.push(revision);
            assert.equal(cache.get(podA)?.decoded, undefined);
            return `of ${revision}`;
          },
        };
        await cache.put(podA, 0, encoded);
        assert.deepEqual([calls, cache.get(podA)?.decoded], [[base + 1], `of ${base + 1}`]);
        await cache.put(podA, 0, encoded);
        assert.deepEqual(calls, [base + 1]);
      },
    );

    check("the bytes of a write may be changed by the writer afterwards", async (cache) => {
      const bytes = Buffer.from("precious");
      await cache.put(podA, 0, bytesOf(bytes));
      bytes.fill(0);
      assert.equal(cache.get(podA)?.value.toString(), "precious");
    });

    check("of many writers that race to create a key, one wins and all others see its entry", async (cache, base) => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => cache.put(podA, 0, objectOf(`${i}`))));
      assert.equal(results.filter((result) => result.ok).length, 1);
      for (const result of results) assert.equal((result.ok ? result.entry : result.current)?.revision, base + 1);
    });

    check("a comparison sees writes that are on their way", async (cache, base) => {
      // Delete and create are both requested before either is durable.
      await putObject(cache, podA, 0, "a");
      const removal = cache.remove(podA, base + 1);
      const creation = cache.put(podA, 0, objectOf("b"));
      const late = cache.put(podA, base + 1, objectOf("late"));
      assert.equal((await removal).ok, true);
      const created = await creation;
      assert(created.ok);
      assert.deepEqual([created.entry.revision, created.entry.created], [base + 3, base + 3]);
      const refused = await late;
      assert.equal(!refused.ok && refused.current?.revision, base + 3);
    });

    check("a write is made only while the keys that it requires have their revisions", async (cache) => {
      const held = await putObject(cache, podA, 0, "lease");
      const requires = [
        { key: podA, revision: held.revision },
        { key: podC, revision: 0 },
      ];
      const b = await cache.put(podB, 0, objectOf("b"), { requires });
      assert.ok(b.ok);
      const taken = await putObject(cache, podA, held.revision, "taken");
      const failedOf = async (writing: Promise<WriteResult>): Promise<unknown> => {
        const result = await writing;
        return result.ok || [result.failed, result.current?.revision];
      };
      const revision = b.entry.revision;
      assert.deepEqual(await failedOf(cache.put(podB, revision, objectOf("c"), { requires })), ["requires", revision]);
      assert.deepEqual(await failedOf(cache.remove(podB, revision, { requires })), ["requires", revision]);
      // The comparison of the key itself comes first.
      assert.deepEqual(await failedOf(cache.put(podB, 0, objectOf("d"), { requires })), ["key", revision]);
      assert.equal(cache.revision, taken.revision);
      const now = [{ key: podA, revision: taken.revision }];
      assert.equal((await cache.remove(podB, revision, { requires: now })).ok, true);
    });

    check("a requirement sees writes that are on their way", async (cache) => {
      const held = await putObject(cache, podA, 0, "lease");
      const requires = [{ key: podA, revision: held.revision }];
      const taking = cache.put(podA, held.revision, objectOf("taken"));
      const late = await cache.put(podB, 0, objectOf("b"), { requires });
      assert.deepEqual([late.ok, (await taking).ok], [false, true]);
    });

    check("a turn that only this process takes is always its own", async (cache) => {
      const turn = { name: "addresses", seen: cache.revision };
      const writes = [podA, podB, podC].map((key) => cache.put(key, 0, objectOf("x"), { turn }));
      assert.ok((await Promise.all(writes)).every(({ ok }) => ok));
    });

    check("no update is lost among writers that retry", async (cache, base) => {
      await cache.put(podA, 0, bytesOf(Buffer.from("0")));
      const increment = async (): Promise<void> => {
        let entry = cache.get(podA);
        for (;;) {
          const next = String(Number(entry!.value.toString()) + 1);
          const result = await cache.put(podA, entry!.revision, bytesOf(Buffer.from(next)));
          if (result.ok) return;
          entry = result.current;
        }
      };
      await Promise.all(Array.from({ length: 40 }, increment));
      assert.equal(cache.get(podA)?.value.toString(), "40");
      assert.equal(cache.revision, base + 41);
    });

    // Stale reads: a caller must see what it was told.
    check(
      "a write is visible when its promise resolves, and revisions become visible in order",
      async (cache, base) => {
        const revisions = await Promise.all(
          Array.from({ length: 100 }, async (_, i) => {
            const entry = await putObject(cache, `${pods}shop/${i}`, 0, "x");
            assert(cache.revision >= entry.revision);
            assert.equal(cache.get(entry.key)?.revision, entry.revision);
            // Answers may overtake each other, but all earlier writes are visible.
            assert.equal(cache.count(pods), cache.revision - base);
            return entry.revision;
          }),
        );
        assert.equal(new Set(revisions).size, 100);
      },
    );

    check("keys and values may be any text and any bytes", async (cache) => {
      const keys = [
        "__proto__",
        "constructor",
        "ключ-ø-鍵-🔑",
        "with space",
        "a\u0000b",
        "%2f..",
        "x".repeat(2000),
      ].map((name) => `${pods}shop/${name}`);
      for (const key of keys) await cache.put(key, 0, bytesOf(Buffer.from([0, 255, 10])));
      for (const key of keys) assert.deepEqual([...cache.get(key)!.value], [0, 255, 10]);
      assert.deepEqual(
        cache.range(pods).entries.map((entry) => entry.key),
        keys.toSorted((a, b) => (a < b ? -1 : 1)),
      );
      await cache.put(`${pods}empty`, 0, bytesOf(Buffer.alloc(0)));
      assert.equal(cache.get(`${pods}empty`)?.value.length, 0);
      const large = Buffer.alloc(3 * 1024 * 1024, 7);
      await cache.put(`${pods}large`, 0, bytesOf(large));
      assert(cache.get(`${pods}large`)?.value.equals(large));
      await assert.rejects(cache.put(`${pods}\ud800`, 0, objectOf("x")), /well-formed/);
      assert.equal(cache.get("/registry//pods/absent"), undefined);
    });

    check("a closed store refuses writes", async (cache) => {
      await cache.close();
      await assert.rejects(cache.put(podA, 0, objectOf("a")), StorageFailure);
      await cache.close();
    });
  });

  describe(`${subject.name}: reads`, () => {
    check("a range has the keys of its prefix in order, in pages that say what follows", async (cache, base) => {
      for (const name of ["c", "a", "d", "b"]) await putObject(cache, `${pods}shop/${name}`, 0, name);
      await putObject(cache, "/registry//podtemplates/shop/a", 0, "other");
      await putObject(cache, "/registry//pod/a", 0, "other");
      const all = cache.range(pods);
      assert.deepEqual(texts(all, base), ["a@2", "b@4", "c@1", "d@3"]);
      assert.deepEqual([all.revision, all.more, all.remaining], [base + 6, false, 0]);
      const page = cache.range(pods, { limit: 3 });
      assert.deepEqual([page.entries.length, page.more, page.remaining], [3, true, 1]);
      const exact = cache.range(pods, { limit: 4 });
      assert.deepEqual([exact.entries.length, exact.more, exact.remaining], [4, false, 0]);
      const rest = cache.range(pods, { from: `${page.entries[2]!.key}\u0000`, limit: 3 });
      assert.deepEqual([texts(rest, base), rest.more], [["d@3"], false]);
      assert.deepEqual(texts(cache.range(pods, { from: "/registry//aaa" }), base).length, 4);
      assert.deepEqual(cache.range(pods, { from: "/registry//zzz" }).entries, []);
      assert.equal(cache.count(pods), 4);
      assert.equal(cache.count(`${pods}shop/`), 4);
      assert.equal(cache.count("/registry/"), 6);
      assert.equal(cache.count(""), 6);
      assert.equal(cache.count("/registry//nothing/"), 0);
    });

    const history = async (cache: WatchCache, base: Revision): Promise<void> => {
      await putObject(cache, podA, 0, "a"); // 1
      await putObject(cache, podB, 0, "b"); // 2
      await putObject(cache, podA, base + 1, "A"); // 3
      await cache.remove(podB, base + 2); // 4
      await putObject(cache, podC, 0, "c"); // 5
      await putObject(cache, podB, 0, "B"); // 6
      await cache.remove(podA, base + 3); // 7
    };
    const states = [
      [],
      ["a@1"],
      ["a@1", "b@2"],
      ["A@3", "b@2"],
      ["A@3"],
      ["A@3", "c@5"],
      ["A@3", "B@6", "c@5"],
      ["B@6", "c@5"],
    ];

    const readsBack = async (cache: WatchCache, base: Revision): Promise<void> => {
      await history(cache, base);
      for (const [step, expected] of states.entries()) {
        const at = base + step;
        const range = await cache.rangeAt(pods, { at });
        assert.deepEqual(texts(range, base), expected, `at ${step}`);
        assert(!isCompacted(range));
        assert.equal(range.revision, at);
        // The same range is read page by page.
        let from: string | undefined;
        const paged: string[] = [];
        for (let left = expected.length; left > 0; left--) {
          const page = await cache.rangeAt(pods, { at, limit: 1, ...(from !== undefined && { from }) });
          assert(!isCompacted(page));
          assert.deepEqual([page.remaining, page.more], [left - 1, left > 1], `at ${step}`);
          paged.push(...texts(page, base));
          from = `${page.entries[0]!.key}\u0000`;
        }
        assert.deepEqual(paged, expected);
        for (const key of [podA, podB, podC]) {
          const page = await cache.rangeAt(key, { at, limit: 1 });
          assert(!isCompacted(page));
          const entry = page.entries[0];
          const listed: Entry | undefined = range.entries.find((other) => other.key === key);
          assert.deepEqual([entry?.revision, entry?.value], [listed?.revision, listed?.value], `${key} at ${step}`);
        }
      }
    };
    check("every old revision can be read, whole, in pages and by key", readsBack);
    if (subject.hasLog) {
      check("old revisions can be read after memory has forgotten them", readsBack, { historyBytesMax: 0 });
    } else {
      check(
        "revisions that memory has forgotten are compacted",
        async (cache, base) => {
          await history(cache, base);
          assert(isCompacted(await cache.rangeAt(pods, { at: base + 3 })));
          assert.deepEqual(texts(await cache.rangeAt(pods, { at: base + 7 }), base), states[7]);
        },
        { historyBytesMax: 0 },
      );
    }

    check("a page of an old revision is not disturbed by later writes", async (cache, base) => {
      for (let i = 0; i < 20; i++) await putObject(cache, `${pods}shop/${String(i).padStart(2, "0")}`, 0, "x");
      const first = cache.range(pods, { limit: 5 });
      for (let i = 0; i < 20; i += 2) {
        const key = `${pods}shop/${String(i).padStart(2, "0")}`;
        if (i % 4 === 0) await cache.remove(key, cache.get(key)!.revision);
        else await putObject(cache, key, cache.get(key)!.revision, "changed");
        await putObject(cache, `${key}-new`, 0, "new");
      }
      const rest = await cache.rangeAt(pods, {
        at: first.revision,
        from: `${first.entries[4]!.key}\u0000`,
        limit: 100,
      });
      assert(!isCompacted(rest));
      assert.deepEqual(
        rest.entries.map((entry) => entry.revision),
        Array.from({ length: 15 }, (_, i) => base + i + 6),
      );
    });

    check("waiting for a revision ends when it is visible, or with the time", async (cache, base, clock) => {
      assert.equal(await cache.waitFor(0, 10), true);
      const reached = cache.waitFor(base + 2, 1000);
      const missed = cache.waitFor(base + 5, 1000);
      await putObject(cache, podA, 0, "a");
      await putObject(cache, podB, 0, "b");
      assert.equal(await reached, true);
      clock.advance(1000);
      assert.equal(await missed, false);
    });

    check("waits for a revision end at once when the store closes", async (cache, base) => {
      const waits = [cache.waitFor(base + 3, 60_000), cache.waitFor(base + 2, 60_000)];
      await cache.close();
      assert.deepEqual(await Promise.all(waits), [false, false]);
      assert.equal(await cache.waitFor(base + 2, 60_000), false);
    });

    check("a fresh read sees every acknowledged write", async (cache) => {
      const { revision } = await putObject(cache, podA, 0, "a");
      await cache.fresh();
      assert(cache.revision >= revision);
    });
  });

  describe(`${subject.name}: past changes`, () => {
    check(
      "changes of a prefix are read newest first, page by page, with the versions that they replaced",
      async (cache, base) => {
        await putObject(cache, podA, 0, "a"); // 1
        await putObject(cache, podB, 0, "b"); // 2
        await putObject(cache, podA, base + 1, "c"); // 3
        await putObject(cache, "/registry/core/nodes/n", 0, "n"); // 4
        assert.equal((await cache.remove(podB, base + 2, { note: "who" })).ok, true); // 5
        await putObject(cache, podB, 0, "d"); // 6
        const whole = ["6 d", "5 deleted b who", "3 c a", "2 b", "1 a"];
        const noted = subject.keepsNotes === false ? whole.map((line) => line.replace(" who", "")) : whole;
        const shown = ({ changes }: PastChanges): string[] =>
          changes.map(({ revision, entry, previous, note }) =>
            [revision - base, entry === undefined ? "deleted" : bare(entry), previous && bare(previous), note]
              .filter((text) => text !== undefined)
              .join(" "),
          );
        const bare = (entry: Entry): string => textAfter(base, entry).replace(/@.*/, "");
        for (const limit of [1, 2, 10]) {
          const found: string[] = [];
          for (let before: Revision | undefined; before !== 0; ) {
            const page: PastChanges = await cache.changes({ prefix: pods, isExact: false, after: base, before, limit });
            found.push(...shown(page));
            before = page.next;
          }
          assert.deepEqual(found, noted);
        }
        const one = { prefix: podA, isExact: true, after: base, before: undefined, limit: 10 };
        assert.deepEqual(shown(await cache.changes(one)), ["3 c a", "1 a"]);
        assert.deepEqual(shown(await cache.changes({ ...one, after: base + 1 })), ["3 c a"]);
        assert.deepEqual(shown(await cache.changes({ ...one, before: base + 3 })), ["1 a"]);
      },
    );
  });

  describe(`${subject.name}: watches`, () => {
    check("a watcher gets every later event once and in order, with what was there before", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      const recorder = await Recorder.open(cache, { prefix: pods, after: base + 1 });
      await putObject(cache, podA, base + 1, "b");
      await putObject(cache, podB, 0, "c");
      await cache.remove(podA, base + 2);
      await putObject(cache, podA, 0, "again");
      await recorder.until(4);
      await settle();
      assert.deepEqual(recorder.textsAfter(base), ["MODIFIED b@2", "ADDED c@3", "DELETED b@4", "ADDED again@5"]);
      assert.deepEqual(
        recorder.events.map(({ previous }) => previous && textAfter(base, previous)),
        ["a@1", undefined, "b@2", undefined],
      );
      assert.deepEqual(
        recorder.events.map((event) => [event.revision, event.entry.revision]),
        [2, 3, 4, 5].map((revision) => [base + revision, base + revision]),
      );
    });

    check("nothing is delivered while the caller that wrote or opened the watch still runs", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      let isRunning = true;
      let calls = 0;
      const opened = cache.watch({
        prefix: pods,
        after: base,
        deliver: () => {
          assert(!isRunning);
          calls++;
          return true;
        },
        ended: () => undefined,
      });
      const written = cache.put(podB, 0, objectOf("b"));
      isRunning = false;
      await Promise.all([opened, written]);
      await settle();
      assert(calls >= 1);
    });

    check("a watcher gets what belongs to its prefix, namespace or key only", async (cache, base) => {
      const whole = await Recorder.open(cache, { prefix: pods, after: base });
      const shop = await Recorder.open(cache, { prefix: `${pods}shop/`, after: base });
      const one = await Recorder.open(cache, { prefix: podA, exact: true, after: base });
      const everything = await Recorder.open(cache, { prefix: "/registry/", after: base });
      const odd = await Recorder.open(cache, { prefix: `${pods}shop/a`, after: base });
      await putObject(cache, podA, 0, "a");
      await putObject(cache, podC, 0, "c");
      await putObject(cache, `${podA}bc`, 0, "abc");
      await putObject(cache, "/registry//podsother/shop/a", 0, "other");
      await putObject(cache, "/registry//pods/cluster-wide", 0, "flat");
      await everything.until(5);
      await settle();
      assert.deepEqual(whole.textsAfter(base), ["ADDED a@1", "ADDED c@2", "ADDED abc@3", "ADDED flat@5"]);
      assert.deepEqual(shop.textsAfter(base), ["ADDED a@1", "ADDED abc@3"]);
      assert.deepEqual(one.textsAfter(base), ["ADDED a@1"]);
      assert.deepEqual(odd.textsAfter(base), ["ADDED a@1", "ADDED abc@3"]);
    });

    const fromThePast = async (cache: WatchCache, base: Revision): Promise<void> => {
      const expected: string[] = [];
      for (let i = 1; i <= 1500; i++) {
        const key = `${pods}${i % 2 === 0 ? "even" : "odd"}/${i % 7}`;
        const current = cache.get(key);
        if (current !== undefined && i % 5 === 0) {
          await cache.remove(key, current.revision);
          expected.push(`DELETED x@${i}`);
        } else {
          await putObject(cache, key, current?.revision ?? 0, "x");
          expected.push(`${current === undefined ? "ADDED" : "MODIFIED"} x@${i}`);
        }
      }
      for (const after of [0, 1, 700, 1499, 1500]) {
        const recorder = await Recorder.open(cache, { prefix: pods, after: base + after });
        await recorder.until(1500 - after);
        assert.deepEqual(recorder.textsAfter(base), expected.slice(after));
        for (const event of recorder.events) {
          assert.equal(event.previous === undefined, event.type === "ADDED");
          if (event.previous !== undefined) assert(event.previous.revision < event.revision);
        }
        recorder.watch.close();
      }
      const even = await Recorder.open(cache, { prefix: `${pods}even/`, after: base + 100 });
      await even.until(700);
      assert(even.events.every((event) => (event.revision - base) % 2 === 0));
    };
    check("a watch from the past replays, then goes on", fromThePast);
    if (subject.hasLog) {
      check("a watch from the past replays what memory has forgotten", fromThePast, { historyBytesMax: 20_000 });
    } else {
      check(
        "a watch from before what memory holds is compacted, and a quiet resource can still be resumed",
        async (cache, base) => {
          await putObject(cache, "/registry//nodes/n", 0, "n");
          for (let i = 0; i < 50; i++) await putObject(cache, podA, cache.get(podA)?.revision ?? 0, "x");
          assert(
            isCompacted(await cache.watch({ prefix: pods, after: base + 10, deliver: () => true, ended: () => {} })),
          );
          const nodes = await Recorder.open(cache, { prefix: "/registry//nodes/", after: base + 1 });
          await putObject(cache, "/registry//nodes/n", base + 1, "N");
          await nodes.until(1);
        },
        { historyBytesMax: 2000 },
      );
    }

    // Events lost under load; a watch that goes back in time.
    check(
      "a replay under load loses nothing, repeats nothing and stays in order",
      async (cache, base) => {
        const recorders: Recorder[] = [];
        for (let i = 0; i < 600; i++) {
          const key = `${pods}shop/${i % 10}`;
          const write = putObject(cache, key, cache.get(key)?.revision ?? 0, "x");
          if (i % 30 === 0) {
            const recorder = await Recorder.open(cache, {
              prefix: pods,
              after: Math.max(base, cache.revision - (i % 90)),
            });
            recorder.accepts = i % 60 !== 0;
            recorders.push(recorder);
          }
          await write;
          if (i % 20 === 0) {
            for (const recorder of recorders) {
              recorder.watch.resume();
              recorder.accepts = !recorder.accepts;
            }
          }
        }
        for (const recorder of recorders) {
          recorder.accepts = true;
          recorder.watch.resume();
        }
        await waitUntil(() => recorders.every((recorder) => recorder.events.at(-1)?.revision === base + 600));
        for (const recorder of recorders) {
          const revisions = recorder.events.map((event) => event.revision);
          const first = revisions[0]!;
          assert.deepEqual(
            revisions,
            Array.from({ length: base + 601 - first }, (_, i) => first + i),
          );
        }
      },
      { clock: systemClock },
    );

    check("a watch from the future gets what comes after it", async (cache, base) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base + 2 });
      await putObject(cache, podA, 0, "a");
      await putObject(cache, podA, base + 1, "b");
      await putObject(cache, podA, base + 2, "c");
      await recorder.until(1);
      await settle();
      assert.deepEqual(recorder.textsAfter(base), ["MODIFIED c@3"]);
    });

    check(
      "watchers in step are handed the same array, those that fell behind together as well",
      async (cache, base) => {
        const early = await Promise.all([1, 2, 3].map(() => Recorder.open(cache, { prefix: pods, after: base })));
        const [a] = await Promise.all([putObject(cache, podA, 0, "a"), putObject(cache, podB, 0, "b")]);
        for (const recorder of early) await recorder.until(2);
        await settle();
        for (const [i, batch] of early[0]!.batches.entries()) {
          for (const recorder of early) assert.equal(recorder.batches[i], batch);
        }
        const late = await Promise.all([1, 2].map(() => Recorder.open(cache, { prefix: pods, after: base + 1 })));
        for (const recorder of late) await recorder.until(1);
        assert.equal(late[0]!.batches[0], late[1]!.batches[0]);
        const [steady, ...stopped] = early;
        for (const recorder of stopped) recorder.accepts = false;
        await putObject(cache, podA, a.revision, "c");
        await steady!.until(3);
        await putObject(cache, podA, base + 3, "d");
        await putObject(cache, podA, base + 4, "e");
        await steady!.until(5);
        for (const recorder of stopped) {
          assert.equal(recorder.events.length, 3);
          recorder.accepts = true;
          recorder.watch.resume();
        }
        for (const recorder of stopped) await recorder.until(5);
        assert.equal(stopped[0]!.batches.at(-1), stopped[1]!.batches.at(-1));
      },
    );

    check("a watcher that says stop is left alone until it resumes, and misses nothing", async (cache, base) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      recorder.accepts = false;
      await putObject(cache, podA, 0, "a");
      await recorder.until(1);
      for (let i = 1; i < 50; i++) await putObject(cache, podA, revisionAfter(base, i), "b");
      await settle();
      assert.equal(recorder.events.length, 1);
      assert.equal(recorder.watch.position, base + 1);
      recorder.accepts = true;
      recorder.watch.resume();
      await recorder.until(50);
      await putObject(cache, podA, base + 50, "c");
      await recorder.until(51);
      assert.equal(recorder.watch.position, base + 51);
    });

    check("a watcher that falls too far behind is ended as slow, and no other is", async (cache, base) => {
      const slow = await Recorder.open(cache, { prefix: pods, after: base, queueLengthMax: 10 });
      const steady = await Recorder.open(cache, { prefix: pods, after: base, queueLengthMax: 10 });
      slow.accepts = false;
      for (let i = 0; i < 30; i++) {
        await putObject(cache, podA, revisionAfter(base, i), "x");
        await steady.until(i + 1);
      }
      await settle();
      assert.equal(slow.ended, "slow");
      assert.equal(slow.events.length, 1);
      assert.equal(steady.ended, undefined);
    });

    // Progress ahead of events.
    check("a position never runs ahead of the events, and moves on when none match", async (cache, base) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      const quiet = await Recorder.open(cache, { prefix: "/registry//nodes/", after: base });
      for (let i = 0; i < 100; i++) {
        const written = putObject(cache, podA, revisionAfter(base, i), "x");
        for (let j = 0; j < (i % 4) + 1; j++) {
          assert.equal(recorder.watch.position, recorder.events.at(-1)?.revision ?? base);
          await turn();
        }
        await written;
        assert.equal(quiet.watch.position, cache.revision);
      }
      await recorder.until(100);
      assert.equal(recorder.watch.position, base + 100);
    });

    check("a watcher that throws is ended and does no harm to others", async (cache, base) => {
      let ended: string | undefined;
      await cache.watch({
        prefix: pods,
        after: base,
        deliver: () => {
          throw new Error("a bug above");
        },
        ended: (reason) => {
          ended = reason;
        },
      });
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      await putObject(cache, podA, 0, "a");
      await recorder.until(1);
      assert.equal(ended, "closed");
    });

    check("watches may be opened and closed from within a delivery", async (cache, base) => {
      const inner: Promise<Recorder>[] = [];
      const outer = new Recorder();
      const watch = await cache.watch({
        prefix: pods,
        after: base,
        deliver: (events) => {
          outer.batches.push(events);
          inner.push(Recorder.open(cache, { prefix: pods, after: base }));
          (watch as Watch).close();
          return true;
        },
        ended: (reason) => {
          outer.ended = reason;
        },
      });
      await putObject(cache, podA, 0, "a");
      await outer.until(1);
      await putObject(cache, podA, base + 1, "b");
      await settle();
      assert.equal(outer.events.length, 1);
      assert.equal(outer.ended, "closed");
      assert.equal(inner.length, 1);
      await (await inner[0]!).until(2);
    });

    check("closing the store ends every watch, and says so once", async (cache, base) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      let endings = 0;
      const watch = await cache.watch({
        prefix: podA,
        exact: true,
        after: base,
        deliver: () => true,
        ended: () => endings++,
      });
      await cache.close();
      assert.equal(recorder.ended, "closed");
      (watch as Watch).close();
      assert.equal(endings, 1);
    });

    check(
      "a thousand watchers all get everything",
      async (cache, base) => {
        const recorders = await Promise.all(
          Array.from({ length: 1000 }, (_, i) =>
            Recorder.open(cache, { prefix: i % 2 === 0 ? pods : `${pods}shop/`, after: base }),
          ),
        );
        for (let i = 0; i < 20; i++) await putObject(cache, podA, revisionAfter(base, i), "x");
        for (const recorder of recorders) await recorder.until(20);
        for (const recorder of recorders) assert.equal(recorder.ended, undefined);
      },
      { clock: systemClock },
    );

    check("a large audience rests between rounds, a small one does not", async (cache, base, clock) => {
      const open = (prefix: string): Promise<Recorder> => Recorder.open(cache, { prefix, after: base });
      const many = await Promise.all(Array.from({ length: 40 }, () => open(pods)));
      const few = await Promise.all(Array.from({ length: 5 }, () => open(`${pods}shop/`)));
      for (let i = 0; i < 3; i++) {
        await putObject(cache, podA, revisionAfter(base, i), "x");
        await settle();
      }
      assert.deepEqual(
        many.map(({ batches }) => batches.length),
        many.map(() => 1),
      );
      assert.deepEqual(
        few.map(({ batches }) => batches.length),
        few.map(() => 3),
      );
      clock.advance(4);
      for (const recorder of many) {
        await recorder.until(3);
        assert.equal(recorder.batches.length, 2);
      }
      clock.advance(4);
      await putObject(cache, podA, base + 3, "x");
      for (const recorder of many) await recorder.until(4);
    });

    check(
      "what happens while nobody watches reaches the next watch of an audience that rested",
      async (cache, base, clock) => {
        const open = (prefix: string): Promise<Recorder> => Recorder.open(cache, { prefix, after: base });
        for (const prefix of [pods, `${pods}shop/`, "/registry/"]) {
          const before = cache.revision;
          const many = await Promise.all(Array.from({ length: 20 }, () => open(prefix)));
          await putObject(cache, `${pods}shop/${before}`, 0, "x");
          for (const recorder of many) await recorder.until(before - base + 1);
          await settle();
          // During the rest that follows, one event comes that a watch reads from the log, and one when all watches
          // have gone.
          await putObject(cache, `${pods}shop/${before}`, before + 1, "x");
          const late = await open(prefix);
          await late.until(before - base + 2);
          for (const { watch } of [...many, late]) watch.close();
          await putObject(cache, `${pods}shop/${before}`, before + 2, "x");
          const next = await open(prefix);
          await next.until(before - base + 3);
          clock.advance(4);
          await settle();
          await putObject(cache, `${pods}shop/${before}`, before + 3, "x");
          await next.until(before - base + 4);
          next.watch.close();
        }
      },
    );

    check("a large audience rests although a writer goes on while it is served", async (cache, base, clock) => {
      const open = (): Promise<Recorder> => Recorder.open(cache, { prefix: pods, after: base });
      let second: Promise<Entry> | undefined;
      const deliver = (): boolean => {
        second ??= putObject(cache, podA, base + 1, "x");
        return true;
      };
      const served = await Promise.all(Array.from({ length: 20 }, open));
      await cache.watch({ prefix: pods, after: base, deliver, ended: () => undefined });
      const many = [...served, ...(await Promise.all(Array.from({ length: 600 }, open)))];
      await putObject(cache, podA, 0, "x");
      await waitUntil(() => many.every(({ events }) => events.length > 0));
      await second;
      await settle();
      // Watchers who were served before the second event have it after the rest.
      for (const { batches } of served) assert.equal(batches.length, 1);
      clock.advance(4);
      for (const recorder of many) await recorder.until(2);
      for (const { batches } of served) assert.equal(batches.length, 2);
    });

    check(
      "events that come while others are handed out reach every watcher once and in order",
      async (cache, base) => {
        const open = (after: Revision): Promise<Recorder> => Recorder.open(cache, { prefix: pods, after });
        const steady = await Promise.all(Array.from({ length: 170 }, () => open(base)));
        const leaving = await Promise.all(Array.from({ length: 170 }, () => open(base)));
        const joining: { readonly recorder: Recorder; readonly after: Revision }[] = [];
        const writes: Promise<Entry>[] = [];
        for (let i = 0; i < 60; i++) {
          writes.push(putObject(cache, podA, revisionAfter(base, i), "x"));
          await turn();
          for (let n = 0; n < 3; n++) leaving.pop()?.watch.close();
          const after = cache.revision;
          joining.push({ recorder: await open(after), after });
          const { watch, events } = steady[i]!;
          assert(watch.position >= (events.at(-1)?.revision ?? base) && watch.position <= cache.revision);
        }
        await Promise.all(writes);
        const revisions = Array.from({ length: 60 }, (_, i) => base + i + 1);
        for (const { recorder, after } of [...steady.map((recorder) => ({ recorder, after: base })), ...joining]) {
          await recorder.until(base + 60 - after);
          assert.deepEqual(
            recorder.events.map(({ revision }) => revision),
            revisions.slice(after - base),
          );
          assert.equal(recorder.watch.position, base + 60);
        }
      },
      { clock: systemClock },
    );

    check("what watchers write while they are handed something reaches all of them", async (cache, base) => {
      const recorders: Recorder[] = [];
      const writes: Promise<unknown>[] = [];
      for (let i = 0; i < 3; i++) {
        const recorder = new Recorder();
        recorders.push(recorder);
        await cache.watch({
          prefix: pods,
          after: base,
          deliver(events) {
            if (recorder.batches.push(events) === 1) writes.push(putObject(cache, `${pods}shop/by-${i}`, 0, "x"));
            return true;
          },
          ended: () => undefined,
        });
      }
      await putObject(cache, podA, 0, "a");
      for (const recorder of recorders) await recorder.until(4);
      await Promise.all(writes);
    });
  });

  describe(`${subject.name}: compaction`, () => {
    check("what is before the compacted revision is gone, what follows is complete", async (cache, base) => {
      for (let i = 0; i < 10; i++) await putObject(cache, podA, revisionAfter(base, i), "x");
      await cache.compact(base + 6);
      assert.equal(cache.compactedRevision, base + 6);
      for (const at of [base, base + 3, base + 5]) {
        assert.deepEqual(await cache.rangeAt(pods, { at }), { compacted: base + 6 });
        assert.deepEqual(await cache.watch({ prefix: pods, after: at, deliver: () => true, ended: () => {} }), {
          compacted: base + 6,
        });
      }
      for (let at = 6; at <= 10; at++)
        assert.deepEqual(texts(await cache.rangeAt(pods, { at: base + at }), base), [`x@${at}`]);
      const recorder = await Recorder.open(cache, { prefix: pods, after: base + 6 });
      await recorder.until(4);
    });

    // A deletion lost around compaction.
    check("no deletion is dropped around a compaction", async (cache) => {
      for (let compactAt = 1; compactAt <= 5; compactAt++) {
        const base = cache.revision;
        await putObject(cache, podA, 0, "a"); // base + 1
        await putObject(cache, podB, 0, "b"); // base + 2
        await cache.remove(podA, base + 1); // base + 3
        await putObject(cache, podA, 0, "again"); // base + 4
        await cache.remove(podA, base + 4); // base + 5
        await cache.compact(base + compactAt);
        const recorder = await Recorder.open(cache, { prefix: pods, after: base + compactAt });
        await recorder.until(5 - compactAt);
        assert.deepEqual(
          recorder.textsAfter(base),
          [`ADDED a`, `ADDED b`, `DELETED a`, `ADDED again`, `DELETED again`]
            .map((text, i) => `${text}@${i + 1}`)
            .slice(compactAt),
        );
        assert.equal(cache.get(podA), undefined);
        assert.equal(cache.get(podB)?.revision, base + 2);
        await cache.remove(podB, base + 2);
      }
    });

    check("a compaction does not touch the present, nor go beyond it, nor back", async (cache, base) => {
      await putObject(cache, podA, 0, "a");
      await putObject(cache, podB, 0, "b");
      await cache.remove(podB, base + 2);
      await cache.compact(base + 1000);
      assert.equal(cache.compactedRevision, base + 3);
      assert.equal(cache.revision, base + 3);
      await cache.compact(base + 1);
      assert.equal(cache.compactedRevision, base + 3);
      assert.deepEqual(texts(cache.range(pods), base), ["a@1"]);
      assert.equal((await putObject(cache, podB, 0, "b")).revision, base + 4);
    });

    check("a watcher in step is not disturbed by a compaction of what it has seen", async (cache, base) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      const paused = await Recorder.open(cache, { prefix: pods, after: base });
      paused.accepts = false;
      for (let i = 0; i < 5; i++) {
        await putObject(cache, podA, revisionAfter(base, i), "x");
        await recorder.until(i + 1);
      }
      await cache.compact(base + 5);
      await putObject(cache, podA, base + 5, "x");
      await recorder.until(6);
      assert.equal(recorder.ended, undefined);
      // A watcher that has not seen it cannot continue.
      paused.accepts = true;
      paused.watch.resume();
      await settle();
      assert.equal(paused.ended, "compacted");
    });

    test("history is compacted by itself, and enough of it is kept", {
      skip: keepsTime ? false : ownTime,
    }, async () => {
      const clock = new FakeClock();
      const cache = await subject.open({ clock, compactionIntervalMs: 1000, historyMs: 3000 });
      try {
        const revisionsAt: Revision[] = [];
        for (let second = 0; second < 8; second++) {
          await putObject(cache, podA, cache.get(podA)?.revision ?? 0, "x");
          revisionsAt.push(cache.revision);
          clock.advance(1000);
          await settle();
        }
        // At 8 s, what was current at 5 s (after the fifth write) can be read, and not much more.
        assert.equal(cache.compactedRevision, revisionsAt[4]);
      } finally {
        await cache.close();
      }
    });
  });

  describe(`${subject.name}: expiry`, { skip: keepsTime ? false : ownTime }, () => {
    check("a key whose time is over is deleted like any other", async (cache, base, clock) => {
      const recorder = await Recorder.open(cache, { prefix: pods, after: base });
      await cache.put(podA, 0, objectOf("short"), { ttlSeconds: 10 });
      await cache.put(podB, 0, objectOf("renewed"), { ttlSeconds: 10 });
      await putObject(cache, podC, 0, "forever");
      clock.advance(5000);
      await cache.put(podB, base + 2, objectOf("renewed"), { ttlSeconds: 10 });
      clock.advance(6000);
      await recorder.until(5);
      assert.equal(recorder.textsAfter(base)[4], "DELETED short@5");
      assert.equal(cache.get(podA), undefined);
      assert.notEqual(cache.get(podB), undefined);
      clock.advance(6000);
      await recorder.until(6);
      clock.advance(1_000_000);
      await settle();
      assert.deepEqual(
        cache.range(pods).entries.map((entry) => entry.key),
        [podC],
      );
    });

    check("a short time given after a long one ends first", async (cache, base, clock) => {
      await cache.put(podA, 0, objectOf("long"), { ttlSeconds: 3600 });
      await cache.put(podB, 0, objectOf("short"), { ttlSeconds: 5 });
      const recorder = await Recorder.open(cache, { prefix: pods, after: base + 2 });
      clock.advance(6000);
      await recorder.until(1);
      assert.deepEqual(recorder.textsAfter(base), ["DELETED short@3"]);
      // A key that was written anew without a time stays.
      await putObject(cache, podA, base + 1, "forever");
      clock.advance(4_000_000);
      await settle();
      assert.notEqual(cache.get(podA), undefined);
    });

    check("many keys that expire at once all go", async (cache, base, clock) => {
      await Promise.all(
        Array.from({ length: 1000 }, (_, i) => cache.put(`${pods}shop/${i}`, 0, objectOf("x"), { ttlSeconds: 1 })),
      );
      const recorder = await Recorder.open(cache, { prefix: pods, after: base + 1000 });
      await waitUntil(() => {
        clock.advance(100);
        return cache.count(pods) === 0;
      });
      await recorder.until(1000);
      assert.equal(cache.count(pods), 0);
    });
  });
}
