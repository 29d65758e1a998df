/** Tests that compaction of the log may be interrupted at every step. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { seededRandom } from "#std/random.ts";

import type { Revision } from "../log-store.ts";
import { LogFile, type LogRow } from "./log-file.ts";
import { surveyLog } from "./survey.ts";
import { isDropped, sweep } from "./sweep.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-sweep-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Writes `count` changes of `keys` keys, one in six a deletion; returns them. */
function fill(file: LogFile, seed: number, count: number, keys: number, bytes: number, first = 1): LogRow[] {
  const random = seededRandom(seed);
  const current = new Map<string, LogRow>();
  const rows: LogRow[] = [];
  file.transaction(() => {
    for (let revision = first; revision < first + count; revision++) {
      const key = `k${Math.floor(random.next() * keys)}`;
      const before = current.get(key);
      const deleted = before !== undefined && random.next() < 1 / 6 ? 1 : 0;
      const row: LogRow = {
        revision,
        key,
        previous: before?.revision ?? 0,
        expires: 0,
        deleted,
        value: Buffer.alloc(bytes, "x"),
      };
      file.append(row);
      rows.push(row);
      if (deleted === 1) current.delete(key);
      else current.set(key, row);
    }
  });
  return rows;
}

function all(file: LogFile): Revision[] {
  return file.changes(0, Number.MAX_SAFE_INTEGER, 1_000_000).map((change) => change.revision);
}

function live(file: LogFile): Revision[] {
  return [...file.live(surveyLog(file, 0).replaced)].map((row) => row.revision);
}

/** Returns the current revisions by the rule of `digest`: a present row removes the one that it replaced. */
function countRows(file: LogFile): { keys: number; sum: number } {
  const { checkpoints } = file;
  let keys = 0;
  let sum = 0;
  for (const { revision, previous, deleted } of file.changes(0, Number.MAX_SAFE_INTEGER, 1_000_000)) {
    if (deleted === 0) {
      keys++;
      sum += revision;
    }
    if (previous !== 0 && !isDropped(checkpoints, revision, previous)) {
      keys--;
      sum -= previous;
    }
  }
  return { keys, sum };
}

/**
 * Returns the rows that must remain: versions that were not replaced, or replaced after `revision`; deletions after it.
 */
function expectedRevisions(rows: readonly LogRow[], revision: Revision): Revision[] {
  const replacedAt = new Map(rows.map((row) => [row.previous, row.revision]));
  return rows
    .filter(
      (row) => (replacedAt.get(row.revision) ?? Infinity) > revision && !(row.deleted && row.revision <= revision),
    )
    .map((row) => row.revision);
}

for (const first of [1, 3_000_000_000]) {
  test(`a compaction cut short after any step, from revision ${first}, is taken up where it was`, () => {
    for (let seed = 1; seed <= 12; seed++) {
      const path = join(root, `cut-${first}-${seed}.db`);
      const random = seededRandom(seed * 7);
      const segmentRows = [10, 37, 150, 4096][seed % 4];
      let file = new LogFile(path, { segmentRows });
      const rows = fill(file, seed, 400, 40, 100, first);
      const current = live(file);
      const sum = current.reduce((total, revision) => total + revision, 0);
      let target = 0;
      for (let life = 0; life < 12; life++) {
        target = Math.max(target, first + Math.floor(random.next() * 400));
        const steps = sweep(file, target, {
          runs: 1 + Math.floor(random.next() * 5),
          rows: 1 + Math.floor(random.next() * 20),
        });
        const many = Math.floor(random.next() * 40);
        for (let i = 0; i < many && steps.next().done !== true; i++) {
          assert.deepEqual(live(file), current);
          assert.deepEqual(countRows(file), { keys: current.length, sum });
          const any = expectedRevisions(rows, target)[0];
          if (any !== undefined) assert.equal(file.row(any)?.revision, any);
        }
        file.close();
        file = new LogFile(path, { segmentRows });
        assert.deepEqual(live(file), current);
        assert.deepEqual(countRows(file), { keys: current.length, sum });
        // The promised history is complete.
        const left = new Set(all(file));
        for (const revision of expectedRevisions(rows, target))
          assert(left.has(revision), `seed ${seed}: ${revision} is gone`);
      }
      for (const _ of sweep(file, target));
      assert.deepEqual(all(file), expectedRevisions(rows, target));
      assert.deepEqual(countRows(file), { keys: current.length, sum });
      const { checkpoints } = file;
      assert.deepEqual(checkpoints, { compacted: target, swept: target, sweeping: 0, dropped: 0 });
      file.close();
    }
  });
}

test("the file keeps to its bound: twice what is in use after each compaction, and 1 MiB", () => {
  const path = join(root, "bound.db");
  const file = new LogFile(path);
  const keys = 200;
  const rounds = 24;
  const perRound = 4000;
  let previous = new Map<string, LogRow>();
  const pages: number[] = [];
  for (let round = 0; round < rounds; round++) {
    file.transaction(() => {
      for (let i = 0; i < perRound; i++) {
        const revision = round * perRound + i + 1;
        const key = `k${i % keys}`;
        const before = previous.get(key);
        const value = Buffer.alloc(i % 50 === 0 ? 20_000 : 1000);
        const row = { revision, key, previous: before?.revision ?? 0, created: 1, expires: 0, deleted: 0, value };
        file.append(row);
        previous = previous.set(key, row);
      }
    });
    // A thousand versions of history are kept.
    for (const _ of sweep(file, (round + 1) * perRound - 1000));
    const { used, total } = file.size;
    assert(total <= 2 * used + 256, `${total} pages with ${used} in use`);
    pages.push(total);
  }
  // Freed room is used again: there is no growth from round to round.
  assert(pages.at(-1)! <= pages[5]! * 1.1, pages.join(" "));
  file.close();
  assert(statSync(path).size <= pages.at(-1)! * 4096);
});
