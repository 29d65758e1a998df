/** When the main thread syncs itself, and when it leaves that to the worker so that nobody has to wait for a disk. */
import assert from "node:assert/strict";
import fs, { existsSync, mkdtempSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";

import { Bucket } from "../mvcc/history.ts";
import { PendingWrite, Slot, Version } from "../mvcc/version.ts";
import { LoneWrites } from "./lone-writes.ts";
import { makeRedoLog, readRedoLog, RedoLog } from "./redo-log.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-redo-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, "store.redo");
const id = 7;

/** A disk with this clock, whose syncs take `syncMs`. */
const clock = new FakeClock();
let syncMs = 0;
mock.method(fs, "fdatasyncSync", () => clock.advance(syncMs));
syncBuiltinESMExports();

const slot = new Slot("/registry//pods/shop/a", new Bucket("/registry//pods/", 0));
let revision = 0;

function nextWrite(length = 10): PendingWrite {
  const version = new Version(slot.key, Buffer.alloc(length), ++revision, 1, 0, undefined, false);
  const ignore = (): void => undefined;
  return new PendingWrite(slot, version, revision - 1, ignore, ignore);
}

interface Setup {
  readonly lone: LoneWrites;
  readonly handOvers: () => number;
  /** Tries one write in a turn of its own. */
  readonly write: (length?: number) => Promise<boolean>;
}

/** One that has a redo log, on a fast disk. */
async function setUp(): Promise<Setup> {
  revision = 0;
  syncMs = 0.1;
  let handOvers = 0;
  makeRedoLog(path, id);
  const lone = new LoneWrites({
    clock,
    open: () => Promise.resolve(new RedoLog(path, id)),
    handOver: () => handOvers++,
    isEager: false,
  });
  const write = async (length?: number): Promise<boolean> => {
    await turn();
    return lone.write(nextWrite(length));
  };
  for (let i = 0; i < 16; i++) assert.equal(await write(), false, "not known to be alone");
  for (let i = 0; i < 32; i++) await write();
  assert.equal(await write(), true);
  lone.take();
  return { lone, handOvers: () => handOvers, write };
}

test("on a slow disk nearly all is left to the worker, until it is fast", async () => {
  const { lone, write } = await setUp();
  syncMs = 8;
  let count = 0;
  const start = clock.monotonic();
  for (let i = 0; i < 2000; i++) {
    if (await write()) count++;
    clock.advance(10);
  }
  const part = (count * syncMs) / (clock.monotonic() - start);
  assert(part > 0.012 && part < 0.023, `${part} of the time`);
  syncMs = 0.3;
  clock.advance(1000);
  for (let i = 0; i < 100; i++) assert.equal(await write(), true);
  lone.close();
});

test("a sync that stands everybody still is paid for by a rest fifty times as long", async () => {
  for (const stalledMs of [60, 300]) {
    const { lone, write } = await setUp();
    syncMs = stalledMs;
    assert.equal(await write(), true);
    syncMs = 0.1;
    assert.equal(await write(), false);
    // From its beginning on.
    clock.advance((stalledMs - 50) * 50 - stalledMs - 10);
    assert.equal(await write(), false);
    clock.advance(20);
    assert.equal(await write(), true);
    syncMs = 6;
    assert.equal(await write(), true);
    assert.equal(await write(), false, "no credit left");
    lone.close();
  }
});

test("on an erratic disk the thread stands still for a small part of the time", async () => {
  const { lone, write } = await setUp();
  // Every thirtieth sync takes 40 ms: without rests 7 % of the time.
  const start = clock.monotonic();
  let stoodStillMs = 0;
  for (let i = 0; i < 3000; i++) {
    syncMs = i % 30 === 29 ? 40 : 0.1;
    const before = clock.monotonic();
    if (await write()) stoodStillMs += clock.monotonic() - before;
    clock.advance(20);
  }
  const part = stoodStillMs / (clock.monotonic() - start);
  assert(part < 0.026, `${part} of the time`);
  lone.close();
});

test("now and then a sync may take a few milliseconds", async () => {
  const { lone, write } = await setUp();
  for (let i = 0; i < 3000; i++) {
    syncMs = i % 150 === 149 ? 9 : 0.3;
    assert.equal(await write(), true);
    clock.advance(3);
  }
  lone.close();
});

test("a second write in one turn of the loop is left to the worker", async () => {
  const { lone, write } = await setUp();
  assert.equal(await write(), true);
  assert.equal(lone.write(nextWrite()), false);
  await Promise.resolve();
  assert.equal(lone.write(nextWrite()), false);
  assert.equal(await write(), true);
  lone.close();
});

test("while the loop has others to serve writes are left to the worker", async () => {
  const { lone, write } = await setUp();
  assert.equal(await write(), true);
  for (let i = 0; i < 8; i++) await stat(folder);
  assert.equal(await write(), false);
  assert.equal(await write(), true);
  lone.close();
});

test("where others write as often, now and then one of them after itself, all is left to the worker", async () => {
  const { lone, write } = await setUp();
  for (let i = 0; i < 4; i++) {
    for (let k = 0; k < 8; k++) await stat(folder);
    assert.equal(await write(), false);
  }
  for (let i = 0; i < 200; i++) {
    if (i % 5 === 0) for (let k = 0; k < 8; k++) await stat(folder);
    assert.equal(await write(), false);
  }
  for (let i = 0; i < 16; i++) await write();
  assert.equal(await write(), true, "alone again");
  lone.close();
});

test("what is large, or finds the file full, is left to the worker, and the file is begun again after it", async () => {
  const { lone, write } = await setUp();
  assert.equal(await write(16 * 1024 + 1), false);
  let count = 0;
  while (await write(16 * 1024)) count++;
  assert.equal(count, 15);
  assert.equal(lone.take().length, count);
  const last = revision;
  assert.equal(await write(), true);
  assert.deepEqual(
    readRedoLog(path, id, last).map((row) => row.revision),
    [last + 1],
  );
  lone.close();
});

test("the worker gets what there is after a tenth of a second, once", async () => {
  const { lone, write, handOvers } = await setUp();
  assert.equal(await write(), true);
  clock.advance(60);
  assert.equal(await write(), true);
  assert.equal(handOvers(), 0);
  clock.advance(60);
  assert.equal(handOvers(), 1);
  assert.equal(lone.take().length, 2);
  assert.equal(lone.take().length, 0);
  clock.advance(1000);
  assert.equal(handOvers(), 1);
  lone.close();
});

test("a redo log that arrives after the store was closed is let go of", async () => {
  const arrived = Promise.withResolvers<RedoLog>();
  makeRedoLog(path, id);
  const log = new RedoLog(path, id);
  const close = mock.method(log, "close");
  const lone = new LoneWrites({ clock, open: () => arrived.promise, handOver: () => undefined, isEager: true });
  await turn();
  assert.equal(lone.write(nextWrite()), false);
  lone.close();
  arrived.resolve(log);
  await turn();
  assert.equal(close.mock.callCount(), 1);
  assert(existsSync(path));
});

test("where no redo log can be made all goes by way of the worker", async () => {
  let opened = 0;
  const lone = new LoneWrites({
    clock,
    open: () => {
      opened++;
      return Promise.reject(new Error("ENOSPC"));
    },
    handOver: () => undefined,
    isEager: true,
  });
  for (let i = 0; i < 5; i++) {
    await turn();
    assert.equal(lone.write(nextWrite()), false);
  }
  assert.equal(opened, 1);
  lone.close();
});
