/**
 * The redo log on a disk that loses power: a model of one keeps, of what was not synced, any of the sectors. Thousands
 * of lives of a store, each ended by a crash anywhere, and whatever the next one finds must be everything promised and
 * nothing made up. `FUZZ_SEED` replays a run, `FUZZ_RUNS` sets how many lives there are.
 *
 * The rules of `sqlite.ts` are modelled here (the redo log is asked only while the worker has nothing under way, and
 * the log takes commits whole and in order); `LoneWrites` and the file's bytes are the real ones.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { after, mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

import { type Revision, StorageFailure } from "./backend.ts";
import { Bucket } from "./mvcc/history.ts";
import { PendingWrite, Slot, Version } from "./mvcc/version.ts";
import type { LogRow } from "./sqlite/log-file.ts";
import { LoneWrites } from "./sqlite/lone-writes.ts";
import { makeRedoLog, readRedoLog, RedoLog } from "./sqlite/redo-log.ts";

const lives = Number(process.env["FUZZ_RUNS"] ?? 1000);
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);

const path = "store.redo";
const descriptor = 1_000_000;
const sectorBytes = 512;

class PowerLoss extends Error {}

/** A disk with one file. */
class Disk {
  readonly #random: Random;
  /** What is on it for good, and what programs see. */
  #durable = Buffer.alloc(0);
  #seen = Buffer.alloc(0);
  readonly #dirty = new Set<number>();
  /** After so many more writes and syncs the power goes; in the middle of that one. */
  stepsLeft = Number.POSITIVE_INFINITY;
  /** Whether the next sync fails instead. */
  failsSync = false;

  constructor(random: Random) {
    this.#random = random;
  }

  get bytes(): Buffer {
    return Buffer.from(this.#seen);
  }

  truncate(): void {
    this.#seen = Buffer.alloc(0);
    this.#dirty.clear();
  }

  write(bytes: Uint8Array, at: number): void {
    const end = at + bytes.length;
    if (end > this.#seen.length) this.#seen = Buffer.concat([this.#seen, Buffer.alloc(end - this.#seen.length)]);
    this.#seen.set(bytes, at);
    for (let sector = Math.floor(at / sectorBytes); sector * sectorBytes < end; sector++) this.#dirty.add(sector);
    this.#step();
  }

  sync(): void {
    this.#step();
    if (this.failsSync) throw new Error("EIO: i/o error, fdatasync");
    this.#keep(() => true);
    this.#step();
  }

  /** What is left when the power comes back. */
  loseUnsynced(): void {
    const part = this.#random.next();
    this.#keep(() => this.#random.next() < part);
    this.#seen = Buffer.from(this.#durable);
  }

  #keep(isKept: (sector: number) => boolean): void {
    if (this.#durable.length !== this.#seen.length) this.#durable = Buffer.alloc(this.#seen.length);
    for (const sector of this.#dirty) {
      const from = sector * sectorBytes;
      if (isKept(sector)) this.#seen.copy(this.#durable, from, from, from + sectorBytes);
    }
    this.#dirty.clear();
  }

  #step(): void {
    if (this.stepsLeft-- === 0) throw new PowerLoss();
  }
}

let disk: Disk;
let random: Random;

mock.method(fs, "openSync", (_path: string, flags: string) => {
  if (flags === "w") disk.truncate();
  return descriptor;
});
mock.method(fs, "closeSync", () => undefined);
mock.method(fs, "writeFileSync", (_file: number, bytes: Buffer) => disk.write(bytes, 0));
mock.method(fs, "writeSync", (_file: number, bytes: Buffer, from: number, length: number, at: number) => {
  // Now and then less than was asked for.
  const written = random.next() < 0.1 ? Math.ceil(random.next() * length) : length;
  disk.write(bytes.subarray(from, from + written), at);
  return written;
});
mock.method(fs, "fsyncSync", () => disk.sync());
mock.method(fs, "fdatasyncSync", () => disk.sync());
mock.method(fs, "readFileSync", () => disk.bytes);
syncBuiltinESMExports();
after(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
});

const slot = new Slot("/registry//pods/shop/a", new Bucket("/registry//pods/", 0));

/** A store, from its opening to its crash. */
class Life {
  readonly #where: string;
  readonly #clock = new FakeClock();
  readonly #writes: LoneWrites;
  /** Values of this life's revisions. */
  readonly values = new Map<Revision, Buffer>();
  /** Sizes that are alike put entries of several rounds at the same places. */
  readonly #sizeMax = 10 ** (1 + random.next() * 3.5);
  readonly #isRegular = random.next() < 0.5;
  #queue: PendingWrite[] = [];
  /** Commits the worker has not answered, by their last revision. */
  underWay: Revision[] = [];
  /** What the log has, what was promised, what was given out. */
  logged: Revision;
  promised: Revision;
  given: Revision;
  #isAlone = true;
  settledAlone = 0;

  constructor(where: string, id: number, revision: Revision) {
    this.#where = where;
    this.logged = this.promised = this.given = revision;
    this.#writes = new LoneWrites({
      clock: this.#clock,
      open: () => Promise.resolve(new RedoLog(path, id)),
      handOver: () => this.#dispatch(),
      isEager: true,
    });
  }

  /** Until the power goes, or the store has failed and somebody pulls the plug. */
  async live(): Promise<void> {
    try {
      for (let steps = 10 + random.next() * 120; steps > 0; steps--) {
        await turn();
        this.#step();
      }
    } catch (error) {
      if (!(error instanceof PowerLoss) && !disk.failsSync) throw error;
    }
  }

  #step(): void {
    const dice = random.next();
    if (dice < 0.6) this.#submit();
    else if (dice < 0.61) for (let i = 0; i < 4; i++) this.#submit();
    else if (dice < 0.7) this.#clock.advance(100);
    else if (dice < 0.701) disk.failsSync = true;
    else this.#answer();
  }

  #submit(): void {
    const revision = ++this.given;
    const length = this.#isRegular ? this.#sizeMax / 8 : random.next() * this.#sizeMax;
    const value = Buffer.alloc(length, `${this.#where} ${revision},`);
    this.values.set(revision, value);
    const version = new Version(slot.key, value, revision, 1, revision % 3, undefined, revision % 5 === 0);
    const ignore = (): void => undefined;
    const write = new PendingWrite(slot, version, revision - 1, ignore, ignore);
    const isAlone = this.#isAlone && this.underWay.length === 0;
    if (isAlone && this.#queue.length === 0 && this.#writes.write(write)) {
      this.promised = revision;
      this.settledAlone++;
      return;
    }
    this.#queue.push(write);
    this.#dispatch();
  }

  #dispatch(): void {
    if (this.underWay.length === 2) return;
    const settled = this.#writes.take();
    const last = [...settled, ...this.#queue].at(-1);
    this.#isAlone = this.#queue.length <= 1;
    this.#queue = [];
    if (last !== undefined) this.underWay.push(last.version.revision);
  }

  #answer(): void {
    const revision = this.underWay.shift();
    if (revision === undefined) return;
    assert(revision > this.logged, this.#where);
    this.logged = revision;
    this.promised = Math.max(this.promised, revision);
    if (this.#queue.length > 0) this.#dispatch();
    else this.#isAlone = true;
  }
}

/** What a start takes in. It must be what was written, without a gap. */
function replay(id: number, logged: Revision, life: Life, where: string): readonly LogRow[] {
  const rows = readRedoLog(path, id, logged);
  for (const [i, row] of rows.entries()) {
    const revision = logged + 1 + i;
    const { key, previous, created, expires, deleted } = row;
    assert.deepEqual(
      { revision: row.revision, key, previous, created, expires, deleted },
      {
        revision,
        key: slot.key,
        previous: revision - 1,
        created: 1,
        expires: revision % 3,
        deleted: revision % 5 === 0 ? 1 : 0,
      },
      where,
    );
    assert(life.values.get(revision)!.equals(row.value), `${where}: bytes of another write at ${revision}`);
  }
  return rows;
}

test(`a disk that loses any sectors that were not synced loses nothing promised, in ${lives} crashes (seed ${seed})`, async (t) => {
  let settledAlone = 0;
  let replayed = 0;
  let cutShort = 0;
  random = seededRandom(seed);
  disk = new Disk(random);
  for (let i = 0, revision = 0; i < lives; i++) {
    const where = `seed ${seed}, life ${i}`;
    const id = 1 + Math.floor(random.next() * 2 ** 32 - 1);
    makeRedoLog(path, id);
    const life = new Life(where, id, revision);
    disk.stepsLeft = Math.floor(random.next() * 300);
    await life.live();
    disk.stepsLeft = Number.POSITIVE_INFINITY;
    disk.failsSync = false;
    disk.loseUnsynced();
    settledAlone += life.settledAlone;
    // Of the commits under way any number, in their order, had reached the disk.
    const reached = life.underWay[Math.floor(random.next() * (life.underWay.length + 1)) - 1] ?? life.logged;
    const rows = replay(id, reached, life, where);
    const found = reached + rows.length;
    assert(found >= life.promised, `${where}: promised up to ${life.promised}, found up to ${found}`);
    assert(found <= life.given, `${where}: revision ${found} was never given out`);
    // A start that is cut short after it took them in, and one that is not.
    assert.deepEqual(readRedoLog(path, id, found), [], where);
    assert.throws(() => readRedoLog(path, id + 1, found), StorageFailure, where);
    replayed += rows.length;
    if (found > life.promised) cutShort++;
    revision = found;
  }
  t.diagnostic(`${settledAlone} writes into the redo log, ${replayed} taken in, ${cutShort} ends not promised`);
  assert(settledAlone > lives && replayed > 0);
});
