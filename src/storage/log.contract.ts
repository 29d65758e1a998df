/**
 * The contract of every `LogStore`, without a cache above it. Each implementation's test calls `logContract`. Revisions
 * are compared with each other, since a log may begin at any, and may give some to keys that are not shown here.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { KeyIndex } from "./commit-sequencer.ts";
import {
  type CommitResult,
  isCompacted,
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type LogStore,
  type LogWrite,
  type Revision,
  type Unversioned,
} from "./log-store.ts";
import { waitUntil } from "./store.contract.ts";
import { insertRevision, toUnversioned } from "./versioned-value.ts";

interface LogSubject {
  readonly name: string;
  /** Opens a new, empty log that is compacted only when it is asked for, and lets `follower` follow it. */
  readonly open: (follower: LogFollower & KeyIndex) => Promise<LogStore>;
  /** Whether keys expire; true by default. */
  readonly expires?: boolean;
}

const prefix = "/registry/core/pods/";
const keyA = `${prefix}shop/a`;
const keyB = `${prefix}shop/b`;
const keyC = `${prefix}test/c`;
const elsewhere = "/registry/core/nodes/n";

const beforeRevision = '"resourceVersion":"';

/** Makes a value with a text, in the JSON that all logs keep. */
const valueOf = (text: string): Unversioned => toUnversioned(`{"text":"${text}",${beforeRevision}"}\n`, beforeRevision);

/** Makes a write of a text that shows its revision. */
function writeOf(key: string, expected: Revision, text: string | undefined, more: Partial<LogWrite> = {}): LogWrite {
  const value = text === undefined ? undefined : valueOf(text);
  return {
    key,
    expected,
    value,
    ttlSeconds: 0,
    isForDeletion: value === undefined,
    requires: [],
    turn: undefined,
    note: undefined,
    ...more,
  };
}

/** Records what a log delivers, and checks the order of it. */
class TestFollower implements LogFollower, KeyIndex {
  readonly entries = new Map<string, LogEntry>();
  readonly events: LogEvent[] = [];
  revision: Revision = 0;
  compactedTo: Revision = 0;

  get valueBytes(): number {
    let bytes = 0;
    for (const { value } of this.entries.values()) bytes += value.bytes.length;
    return bytes;
  }

  load(entry: LogEntry): void {
    assert.ok(!this.entries.has(entry.key), `${entry.key} is loaded once`);
    this.#set(entry);
  }

  changed(events: readonly LogEvent[]): void {
    assert.ok(events.length > 0);
    const [{ revision }] = events as [LogEvent];
    assert.ok(revision > this.revision, `${revision} comes after ${this.revision}`);
    assert.ok(events.every((event) => event.revision === revision));
    assert.equal(new Set(events.map(({ key }) => key)).size, events.length);
    for (const { key, value, revision: at, write } of events) {
      this.events.push({ key, value: value && { ...value, bytes: Buffer.from(value.bytes) }, revision: at, write });
      if (value === undefined) assert.ok(this.entries.delete(key), "only what exists is deleted");
      else this.#set({ key, value, revision: at });
    }
    this.revision = revision;
  }

  progressed(revision: Revision): void {
    this.revision = Math.max(this.revision, revision);
  }

  reloaded(entries: readonly LogEntry[], revision: Revision): void {
    this.entries.clear();
    for (const entry of entries) this.#set(entry);
    this.revision = revision;
  }

  compacted(revision: Revision): void {
    assert.ok(revision >= this.compactedTo);
    this.compactedTo = revision;
  }

  recovered(): void {
    assert.fail("nothing is unreadable");
  }

  scanKeys(from: string, to: string | undefined, visit: (key: string) => boolean): void {
    this.#keysIn(from, to).every(visit);
  }

  countKeys(from: string, to: string | undefined): number {
    return this.#keysIn(from, to).length;
  }

  /** Returns the texts of all entries by key. */
  get texts(): Record<string, string> {
    return Object.fromEntries([...this.entries].map(([key, entry]) => [key, textOfEntry(entry)]));
  }

  #keysIn(from: string, to: string | undefined): string[] {
    return [...this.entries.keys()].filter((key) => key >= from && (to === undefined || key < to)).sort();
  }

  #set({ key, value, revision }: LogEntry): void {
    this.entries.set(key, { key, value: { ...value, bytes: Buffer.from(value.bytes) }, revision });
  }
}

/** Returns the text of an entry with its revision, as `a@105`. */
function textOfEntry({ value, revision }: LogEntry): string {
  const { text, resourceVersion } = JSON.parse(insertRevision(value, revision).toString()) as Record<string, string>;
  return `${text}@${resourceVersion}`;
}

const committed = (result: CommitResult): Revision => {
  assert.ok(result.committed, `the write is refused: ${JSON.stringify(result)}`);
  return result.revision;
};

const failedOf = (result: CommitResult): string => (result.committed ? "" : result.failed);

export function logContract({ name, open, expires = true }: LogSubject): void {
  const check = (title: string, body: (log: LogStore, follower: TestFollower) => Promise<void>): void => {
    test(title, async () => {
      const follower = new TestFollower();
      const log = await open(follower);
      try {
        await body(log, follower);
      } finally {
        await log.close();
      }
    });
  };
  const heard = (follower: TestFollower, revision: Revision): Promise<void> =>
    waitUntil(() => follower.revision >= revision);

  describe(`${name}: commits`, () => {
    check(
      "a write has the next revision, and the follower gets it with the request it came from",
      async (log, follower) => {
        const before = log.revision;
        const write = writeOf(keyA, 0, "a");
        const revision = committed(await log.commit(write));
        assert.ok(revision > before);
        await heard(follower, revision);
        assert.equal(log.revision >= revision, true);
        assert.deepEqual(follower.texts, { [keyA]: `a@${revision}` });
        assert.equal(follower.events.at(-1)?.write, write);
        assert.ok((await log.latest()) >= revision);
      },
    );

    check("a key is written only at the revision that is expected", async (log, follower) => {
      const first = committed(await log.commit(writeOf(keyA, 0, "a")));
      for (const wrong of [0, first + 1000]) assert.equal(failedOf(await log.commit(writeOf(keyA, wrong, "x"))), "key");
      assert.equal(failedOf(await log.commit(writeOf(keyB, first, "x"))), "key");
      assert.equal(failedOf(await log.commit(writeOf(keyB, 0, undefined))), "key");
      const second = committed(await log.commit(writeOf(keyA, first, "b")));
      assert.equal(failedOf(await log.commit(writeOf(keyA, first, undefined))), "key");
      const third = committed(await log.commit(writeOf(keyA, second, undefined)));
      await heard(follower, third);
      assert.deepEqual(follower.texts, {});
      assert.ok(first < second && second < third);
    });

    check(
      "of writers of the same version one wins, and the answer of the others is as new as its write",
      async (log) => {
        const first = committed(await log.commit(writeOf(keyA, 0, "a")));
        const results = await Promise.all(Array.from({ length: 20 }, () => log.commit(writeOf(keyA, first, "b"))));
        const [won, ...rest] = results.filter((result) => result.committed);
        assert.equal(rest.length, 0);
        for (const result of results) assert.ok(result.revision >= won!.revision);
      },
    );

    check("all keys that a write requires must be as they are required", async (log) => {
      const lease = committed(await log.commit(writeOf(keyA, 0, "lease")));
      const requires = [
        { key: keyA, revision: lease },
        { key: keyC, revision: 0 },
      ];
      const b = committed(await log.commit(writeOf(keyB, 0, "b", { requires })));
      assert.equal(failedOf(await log.commit(writeOf(keyB, 0, "c", { requires }))), "key");
      committed(await log.commit(writeOf(keyC, 0, "c")));
      assert.equal(failedOf(await log.commit(writeOf(keyB, b, "d", { requires }))), "requires");
      assert.equal(failedOf(await log.commit(writeOf(keyB, b, undefined, { requires }))), "requires");
      committed(await log.commit(writeOf(keyB, b, undefined, { requires: [{ key: keyA, revision: lease }] })));
    });

    check("a write waits for an earlier one of a key that it requires, so that its writer finds that", async (log) => {
      const lease = committed(await log.commit(writeOf(keyA, 0, "lease")));
      const taking = log.commit(writeOf(keyA, lease, "taken"));
      const result = await log.commit(writeOf(keyB, 0, "b", { requires: [{ key: keyA, revision: lease }] }));
      assert.equal(failedOf(result), "requires");
      assert.ok(result.revision >= committed(await taking));
    });

    check("turns of one process do not refuse each other", async (log) => {
      const turn = { name: "addresses", seen: log.revision };
      const writes = [keyA, keyB, keyC].map((key) => log.commit(writeOf(key, 0, "x", { turn })));
      for (const result of await Promise.all(writes)) committed(result);
    });

    check("a value of any bytes comes back as it was", async (log, follower) => {
      const bytes = Buffer.from(Array.from({ length: 700 }, (_, at) => at % 256));
      const value = { bytes, revisionOffset: -1 };
      const revision = committed(await log.commit(writeOf(keyA, 0, "", { value })));
      await heard(follower, revision);
      assert.deepEqual(follower.entries.get(keyA)?.value, value);
    });
  });

  describe(`${name}: expiry`, { skip: !expires && "keys do not expire" }, () => {
    check("a key with a time to live goes by itself, unless it was written again", async (log, follower) => {
      const a = committed(await log.commit(writeOf(keyA, 0, "a", { ttlSeconds: 1 })));
      const b = committed(await log.commit(writeOf(keyB, 0, "b", { ttlSeconds: 1 })));
      const later = committed(await log.commit(writeOf(keyB, b, "B")));
      await waitUntil(() => !follower.entries.has(keyA) && follower.revision > later);
      const gone = follower.events.at(-1)!;
      assert.deepEqual([gone.key, gone.value], [keyA, undefined]);
      assert.ok(gone.revision > a);
      assert.deepEqual(follower.texts, { [keyB]: `B@${later}` });
    });
  });

  describe(`${name}: history`, () => {
    /** Writes a, b, a again, a node, and deletes b. Returns the revisions. */
    const fill = async (log: LogStore, follower: TestFollower): Promise<Revision[]> => {
      const a = committed(await log.commit(writeOf(keyA, 0, "a")));
      const b = committed(await log.commit(writeOf(keyB, 0, "b")));
      const later = committed(await log.commit(writeOf(keyA, a, "A")));
      const node = committed(await log.commit(writeOf(elsewhere, 0, "n")));
      const gone = committed(await log.commit(writeOf(keyB, b, undefined)));
      await heard(follower, gone);
      return [a, b, later, node, gone];
    };
    const textsAt = async (log: LogStore, at: Revision, more: object = {}): Promise<unknown> => {
      const range = await log.range(prefix, { at, ...more });
      return isCompacted(range) ? "compacted" : [...range.entries.map(textOfEntry), range.remaining];
    };

    check("a range shows the keys at a revision, in order and in pages", async (log, follower) => {
      const [a, b, later, node, gone] = (await fill(log, follower)) as [number, number, number, number, number];
      if (!log.hasHistory) {
        assert.equal(await textsAt(log, a), "compacted");
        return;
      }
      assert.deepEqual(await textsAt(log, a), [`a@${a}`, 0]);
      assert.deepEqual(await textsAt(log, node), [`A@${later}`, `b@${b}`, 0]);
      assert.deepEqual(await textsAt(log, gone), [`A@${later}`, 0]);
      assert.deepEqual(await textsAt(log, node, { limit: 1 }), [`A@${later}`, 1]);
      assert.deepEqual(await textsAt(log, node, { limit: 1, from: `${keyA}\u0000` }), [`b@${b}`, 0]);
      assert.deepEqual(await textsAt(log, node, { from: keyC }), [0]);
    });

    check("the changes between two revisions come with what they replaced", async (log, follower) => {
      const [a, b, later, , gone] = (await fill(log, follower)) as [number, number, number, number, number];
      const changes = async (key: string, exact: boolean, after: Revision, upTo: Revision): Promise<unknown> => {
        const texts: string[] = [];
        for (let reached = after; reached < upTo; ) {
          const page = await log.history(key, exact, reached, upTo);
          if (page === undefined) return "compacted";
          assert.ok(page.reached > reached);
          ({ reached } = page);
          for (const { value, revision, previous, ...of } of page.events) {
            const now = value === undefined ? "-" : textOfEntry({ ...of, value, revision });
            texts.push(`${previous === undefined ? "-" : textOfEntry(previous)} ${now} ${revision}`);
          }
        }
        return texts;
      };
      if (!log.hasHistory) {
        assert.equal(await changes(prefix, false, a, gone), "compacted");
        return;
      }
      const all = [`- a@${a} ${a}`, `- b@${b} ${b}`, `a@${a} A@${later} ${later}`, `b@${b} - ${gone}`];
      assert.deepEqual(await changes(prefix, false, a - 1, gone), all);
      assert.deepEqual(await changes(prefix, false, b, later), [all[2]]);
      assert.deepEqual(await changes(keyA, true, a - 1, gone), [all[0], all[2]]);
    });

    check("what is compacted cannot be read, and the follower is told", async (log, follower) => {
      const [a, , , node, gone] = (await fill(log, follower)) as [number, number, number, number, number];
      await log.compact(node);
      await waitUntil(() => follower.compactedTo >= node);
      assert.equal(log.compactedRevision, node);
      assert.equal(await textsAt(log, a), "compacted");
      assert.equal(await log.history(prefix, false, a, gone), undefined);
      if (!log.hasHistory) return;
      const [last] = (await textsAt(log, gone)) as [string];
      assert.match(last, /^A@/);
      assert.notEqual(await log.history(prefix, false, node, gone), undefined);
      // A compaction never goes back.
      await log.compact(a);
      assert.equal(log.compactedRevision, node);
    });
  });
}
