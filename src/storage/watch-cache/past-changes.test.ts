/** Reads of the history backwards, from a log that counts what it is asked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEvent, LogStore, Revision } from "../log-store.ts";
import { withoutRevision } from "../versioned-value.ts";
import type { PastChanges } from "../watch-cache.ts";
import { readChanges } from "./past-changes.ts";

const busy = "/registry/core/pods/";
const quiet = "/registry/core/secrets/";

interface Counts {
  reads: number;
  /** The most events of one answer of the log, and the most revisions that one read was about. */
  events: number;
  revisions: number;
}

/** The number of events after which a page of the log ends. */
const pageEvents = 200;

/** Makes a log with one change at each revision: every thousandth is of a quiet resource, all others are of a busy one. */
function logOf(last: Revision, since: Revision, valueBytes = 10): { readonly log: LogStore; readonly counts: Counts } {
  const counts: Counts = { reads: 0, events: 0, revisions: 0 };
  const value = withoutRevision(Buffer.alloc(valueBytes));
  const log: Pick<LogStore, "versions" | "history"> = {
    versions: () => Promise.resolve({ versions: [], next: 0, since, sinceMs: 5 }),
    history(prefix, _exact, after, upTo) {
      counts.reads++;
      counts.revisions = Math.max(counts.revisions, upTo - after);
      if (after < since) return Promise.resolve(undefined);
      const events: HistoryEvent[] = [];
      for (let revision = after + 1; revision <= upTo; revision++) {
        const key = `${revision % 1000 === 0 ? quiet : busy}ns/a${revision}`;
        if (!key.startsWith(prefix)) continue;
        events.push({ key, value, revision, previous: undefined, writtenAt: undefined, note: undefined });
        if (events.length === pageEvents) return Promise.resolve({ events, reached: revision });
      }
      counts.events = Math.max(counts.events, events.length);
      return Promise.resolve({ events, reached: upTo });
    },
  };
  return { log: log as LogStore, counts }; // reads of the history need no other member
}

/** Reads all changes, page by page. Returns the revisions, and the largest page. */
async function readAll(
  log: LogStore,
  prefix: string,
  newest: Revision,
): Promise<{ readonly revisions: Revision[]; readonly largest: number }> {
  const revisions: Revision[] = [];
  let largest = 0;
  for (let before: Revision | undefined; before !== 0; ) {
    const range = { prefix, isExact: false, after: 0, before, limit: 128 };
    const page: PastChanges = await readChanges(log, range, newest);
    largest = Math.max(largest, page.changes.length);
    revisions.push(...page.changes.map(({ revision }) => revision));
    before = page.next;
  }
  return { revisions, largest };
}

test("the newest changes among a hundred thousand take few reads", async () => {
  const { log, counts } = logOf(100_000, 0);
  const range = { prefix: busy, isExact: false, after: 0, before: undefined, limit: 50 };
  const { changes, next } = await readChanges(log, range, 100_000);
  assert.equal(changes[0]!.revision, 99_999);
  assert.ok(changes.length >= 50 && next > 0);
  assert.ok(counts.reads <= 2 && counts.events <= pageEvents);
});

test("a hundred thousand changes are all read, newest first, some at a time", async () => {
  const { log, counts } = logOf(100_000, 0);
  const all = await readAll(log, busy, 100_000);
  assert.equal(all.revisions.length, 99_900);
  assert.ok(all.revisions.every((revision, at) => at === 0 || revision < all.revisions[at - 1]!));
  assert.ok(all.largest <= 128 + pageEvents && counts.events <= pageEvents);
});

test("few changes among many of others are found by windows that grow, each of which is bounded", async () => {
  const { log, counts } = logOf(100_000, 0);
  const { revisions } = await readAll(log, quiet, 100_000);
  assert.equal(revisions.length, 100);
  assert.ok(counts.reads < 100 && counts.revisions <= 4096);
});

test("large values end an answer early", async () => {
  const { log } = logOf(1000, 0, 512 * 1024);
  const range = { prefix: busy, isExact: false, after: 0, before: undefined, limit: 128 };
  const { changes, next } = await readChanges(log, range, 1000);
  assert.ok(changes.length <= 64 && next > 0);
});

test("the answer ends where the history begins, or is dropped meanwhile", async () => {
  const { log } = logOf(1000, 900);
  const { revisions } = await readAll(log, busy, 1000);
  assert.equal(revisions.at(-1), 901);
  const shrinking: LogStore = {
    ...log,
    versions: () => Promise.resolve({ versions: [], next: 0, since: 0, sinceMs: undefined }),
  };
  const range = { prefix: busy, isExact: false, after: 0, before: 902, limit: 128 };
  const page = await readChanges(shrinking, range, 1000);
  assert.deepEqual([page.changes.length, page.next, page.since], [0, 0, 901]);
});
