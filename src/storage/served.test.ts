/** A log that one process owns and others use: what each of them sees, also when one ends, stops or loses its connection. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { DelayedLog } from "./delayed-log-for-tests.ts";
import { ForwardingLog } from "./forwarding-log.ts";
import {
  type CommitResult,
  everything,
  isCompacted,
  type LogFollower,
  type LogRangeOptions,
  type LogStore,
  type LogWrite,
  type Revision,
  StorageFailure,
  StorageFull,
  Unavailable,
} from "./log-store.ts";
import { ServedLog } from "./served.ts";
import { frameOf } from "./served/fields.ts";
import { Line } from "./served/line-for-tests.ts";
import { fromOwner, protocolName, toOwner } from "./served/messages.ts";
import type { RemoteLog, RemoteLogOptions } from "./served/remote-log.ts";
import { prefix, Processes, RecordingFollower, writeOf } from "./served/served-for-tests.ts";
import { openSqliteStore } from "./sqlite.ts";
import { waitUntil } from "./store.contract.ts";
import { toUnversioned } from "./versioned-value.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

/** Holds writes back until it is opened. */
class Gate {
  waiting = 0;
  #opened: Promise<void> | undefined;
  #open: () => void = () => undefined;

  close(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  open(): void {
    this.#open();
  }

  async pass(): Promise<void> {
    this.waiting++;
    await this.#opened;
    this.waiting--;
  }
}

/** A log whose writes wait for a gate. */
class GatedLog extends ForwardingLog {
  readonly #gate: Gate;

  constructor(log: LogStore, gate: Gate) {
    super(log);
    this.#gate = gate;
  }

  override async commit(write: LogWrite): Promise<CommitResult> {
    await this.#gate.pass();
    return super.commit(write);
  }
}

/** A log whose follower gets its entries when a gate is open. */
class SlowlyLoadedLog extends ForwardingLog {
  readonly #gate: Gate;

  constructor(log: LogStore, gate: Gate) {
    super(log);
    this.#gate = gate;
  }

  override async follow(follower: LogFollower): Promise<void> {
    await this.#gate.pass();
    return super.follow(follower);
  }
}

/** A log that stores values in forms, as an encryption does. */
class FormLog extends ForwardingLog {
  readonly stale = new Set<string>();
  #changes = 0;
  follower!: LogFollower;

  override get formName(): string {
    return `form ${this.#changes}`;
  }

  change(): void {
    this.#changes++;
  }

  override isStale(key: string): boolean {
    return this.stale.has(key);
  }

  override follow(follower: LogFollower): Promise<void> {
    this.follower = follower;
    return super.follow(follower);
  }
}

/** Returns the frame of a commit with another number of conditions on other keys. */
function withRequires(frame: Buffer, count: number): Buffer {
  const bytes = Buffer.from(frame);
  // The list and the turn, which is missing, are the last fields.
  bytes.writeUInt32LE(count, bytes.length - 5);
  return bytes;
}

/** Returns a frame with one more byte. */
function longer(frame: Buffer): Buffer {
  const bytes = Buffer.concat([frame, Buffer.alloc(1)]);
  bytes.writeUInt32LE(bytes.length - 4, 0);
  return bytes;
}

async function start(t: TestContext, settings: Parameters<typeof Processes.start>[0] = {}): Promise<Processes> {
  const processes = await Processes.start(settings);
  t.after(() => processes.stop());
  return processes;
}

/** Opens the log of another process, and follows it. */
async function join(t: TestContext, processes: Processes, options: Partial<RemoteLogOptions> = {}) {
  const log = await processes.openLog(options);
  const follower = new RecordingFollower();
  await log.follow(follower);
  t.after(() => log.close());
  return { log, follower };
}

const committed = async (result: ReturnType<Awaited<ReturnType<typeof join>>["log"]["commit"]>): Promise<Revision> => {
  const settled = await result;
  assert.ok(settled.committed, JSON.stringify(settled));
  return settled.revision;
};

test("a process knows its own writes, and gets those of all others, in order", async (t) => {
  const processes = await start(t);
  const { cache } = processes.owner.store;
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const writes = Array.from({ length: 50 }, (_, at) => writeOf(`a${at}`, 0, `a${at}`));
  const others = Array.from({ length: 50 }, (_, at) => writeOf(`b${at}`, 0, `b${at}`));
  await Promise.all([
    ...writes.map((write) => a.log.commit(write)),
    ...others.map((write) => b.log.commit(write)),
    cache.put(`${prefix}c`, 0, { ...toUnversioned("c", "none"), decode: () => undefined }),
  ]);
  const { revision } = cache;
  await waitUntil(() => a.follower.revision === revision && b.follower.revision === revision);
  assert.deepEqual(a.follower.texts, b.follower.texts);
  assert.equal(a.follower.texts.length, 101);
  const own = (follower: RecordingFollower): unknown[] => follower.events.map(({ write }) => write).filter(Boolean);
  assert.deepEqual(new Set(own(a.follower)), new Set(writes));
  assert.ok(
    own(a.follower).every((write) => writes.includes(write as LogWrite)),
    "they are the very objects",
  );
  assert.ok(own(b.follower).every((write) => others.includes(write as LogWrite)));
  assert.equal(own(b.follower).length, others.length);
});

test("a process that joins later has the state, and what is acknowledged anywhere is the latest revision of all", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  await Promise.all(Array.from({ length: 300 }, (_, at) => a.log.commit(writeOf(`k${at}`, 0, "x".repeat(at * 50)))));
  const gone = await committed(a.log.commit(writeOf("gone", 0, "gone")));
  await committed(a.log.commit(writeOf("gone", gone, undefined)));
  const b = await join(t, processes);
  assert.equal(b.follower.entries.size, 300);
  assert.deepEqual(b.follower.texts, a.follower.texts);
  const revision = await committed(a.log.commit(writeOf("k0", b.follower.entries.get(`${prefix}k0`)!.revision, "new")));
  assert.equal(await b.log.latest(), revision);
  assert.ok(b.follower.texts.includes(`k0=new@${revision}`));
  assert.ok((await processes.owner.served.latest()) >= revision);
});

/** Opens the log of another process behind a line. */
async function joinByLine(t: TestContext, processes: Processes, name: string, options: Partial<RemoteLogOptions> = {}) {
  const line = await Line.open(processes.folder, name);
  t.after(() => line.close());
  return { ...(await join(t, processes, { folder: line.folder, ...options })), line };
}

const outcomeOf = (commit: Promise<CommitResult>): Promise<string> =>
  commit.then(
    (result) => (result.committed ? "committed" : result.failed),
    (error: Error) => error.constructor.name,
  );

const heard = (follower: RecordingFollower, revision: Revision): Promise<void> =>
  waitUntil(() => follower.revision >= revision);

test("a process that is cut off goes on with what it missed, once and in order", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  const b = await joinByLine(t, processes, "b");
  const first = await committed(b.log.commit(writeOf("k", 0, "1")));
  b.line.isCut = true;
  let revision = first;
  for (let at = 2; at <= 30; at++) revision = await committed(a.log.commit(writeOf("k", revision, String(at))));
  assert.equal(b.follower.revision, first);
  b.line.isCut = false;
  await heard(b.follower, revision);
  assert.equal(b.follower.reloads, 0);
  assert.deepEqual(
    b.follower.events.map(({ value }) => value!.bytes.toString()),
    a.follower.events.map(({ value }) => value!.bytes.toString()),
  );
  await committed(b.log.commit(writeOf("k", revision, "last")));
});

test("a process that was cut off for too long has the state read anew", async (t) => {
  const processes = await start(t);
  const { cache } = processes.owner.store;
  const a = await join(t, processes);
  const b = await joinByLine(t, processes, "b");
  const kept = await committed(b.log.commit(writeOf("kept", 0, "kept")));
  await committed(b.log.commit(writeOf("gone", 0, "gone")));
  b.line.isCut = true;
  await committed(a.log.commit(writeOf("gone", a.follower.entries.get(`${prefix}gone`)!.revision, undefined)));
  const revision = await committed(a.log.commit(writeOf("new", 0, "new")));
  await cache.compact(revision);
  b.line.isCut = false;
  await heard(b.follower, revision);
  assert.equal(b.follower.reloads, 1);
  assert.deepEqual(b.follower.texts, [`kept=kept@${kept}`, `new=new@${revision}`]);
  assert.equal(b.log.compactedRevision, revision);
  const next = await committed(b.log.commit(writeOf("new", revision, "newer")));
  await heard(a.follower, next);
  assert.deepEqual(a.follower.texts, b.follower.texts);
});

test("the outcome of writes under way is unknown when the connection is lost, and later ones wait for the next", async (t) => {
  const processes = await start(t);
  const b = await joinByLine(t, processes, "b");
  b.line.stop("in");
  const under = Array.from({ length: 20 }, (_, at) => outcomeOf(b.log.commit(writeOf(`k${at}`, 0, "x"))));
  await waitUntil(() => processes.owner.store.cache.count(prefix) === 20);
  b.line.isCut = true;
  assert.deepEqual(new Set(await Promise.all(under)), new Set(["OutcomeUnknown"]));
  const waiting = outcomeOf(b.log.commit(writeOf("later", 0, "later")));
  b.line.isCut = false;
  b.line.goOn();
  assert.equal(await waiting, "committed");
  // All of them were done, and come as the changes of somebody else.
  assert.equal(b.follower.entries.size, 21);
  assert.equal(b.follower.events.filter(({ write }) => write !== undefined).length, 1);
});

test("without an owner writes are refused after some time, reads of the present go on, and all ends with the next owner", async (t) => {
  const processes = await start(t);
  const clock = new FakeClock();
  const a = await join(t, processes, { clock });
  const revision = await committed(a.log.commit(writeOf("k", 0, "1")));
  await processes.owner.store.cache.close();
  assert.equal(a.log.latest(), revision);
  // The process may not have noticed yet.
  let isNoticed = false;
  void outcomeOf(a.log.commit(writeOf("k", 5, "2"))).then(() => (isNoticed = true));
  await waitUntil(() => {
    clock.advance(20);
    return isNoticed;
  });
  const refused = outcomeOf(a.log.commit(writeOf("k", revision, "2")));
  const history = assert.rejects(a.log.history(prefix, false, 0, revision), Unavailable);
  // The connections that are tried meanwhile end at once.
  let isOver = false;
  void Promise.all([refused, history]).then(() => (isOver = true));
  await waitUntil(() => {
    clock.advance(20);
    return isOver;
  });
  assert.equal(await refused, "Unavailable");
  await history;
  await processes.startOwner();
  let after: string | undefined;
  void outcomeOf(a.log.commit(writeOf("k", revision, "3"))).then((outcome) => (after = outcome));
  await waitUntil(() => {
    clock.advance(1);
    return after !== undefined;
  });
  assert.equal(after, "committed");
  assert.equal(a.follower.events.length, 2);
});

test("an owner that does not answer leaves the outcome of a write unknown, and its change comes as that of the write", async (t) => {
  const processes = await start(t);
  const clock = new FakeClock();
  const a = await joinByLine(t, processes, "a", { clock });
  a.line.stop("out");
  const write = writeOf("k", 0, "1");
  const outcome = outcomeOf(a.log.commit(write));
  clock.advance(9000);
  clock.advance(2000);
  assert.equal(await outcome, "OutcomeUnknown");
  assert.equal(await outcomeOf(a.log.commit(writeOf("l", 0, "1"))), "Unavailable");
  a.line.goOn();
  await waitUntil(() => a.follower.entries.size === 1);
  assert.equal(a.follower.events[0]!.write, write);
  assert.deepEqual(processes.warnings, []);
});

test("a process that is stopped delays no other, and has everything when it goes on", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await joinByLine(t, processes, "b")];
  b.line.stop("in");
  let revision = 0;
  for (let at = 0; at < 100; at++) revision = await committed(a.log.commit(writeOf("k", revision, "x".repeat(10_000))));
  assert.equal(b.follower.revision < revision, true);
  const latest = b.log.latest();
  assert.ok(latest instanceof Promise, "the stopped process knows that it is behind");
  b.line.goOn();
  assert.equal(await latest, revision);
  assert.equal(b.follower.events.length, 100);
  assert.equal(b.line.connections, 1);
});

test("a process that reads too slowly is cut off, and comes back", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await joinByLine(t, processes, "b")];
  b.line.stop("in");
  let revision = 0;
  while (processes.warnings.length === 0) {
    revision = await committed(a.log.commit(writeOf("k", revision, "x".repeat(3_000_000))));
  }
  assert.match(processes.warnings[0]!, /bytes wait for a process that does not read them/);
  b.line.goOn();
  await heard(b.follower, revision);
  assert.equal(b.line.connections, 2);
  assert.equal(b.follower.events.length, a.follower.events.length);
});

test("turns of another process refuse, those that are under way are awaited first", async (t) => {
  const gate = new Gate();
  const processes = await start(t, { wrap: (log) => new GatedLog(log, gate) });
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const { cache } = processes.owner.store;
  const seen = a.log.revision;
  const turn = { name: "addresses", seen };
  gate.close();
  const first = outcomeOf(a.log.commit(writeOf("a1", 0, "x", { turn })));
  const again = outcomeOf(a.log.commit(writeOf("a2", 0, "x", { turn })));
  let isSettled = false;
  const other = outcomeOf(b.log.commit(writeOf("b1", 0, "x", { turn }))).finally(() => (isSettled = true));
  const elsewhere = outcomeOf(b.log.commit(writeOf("b2", 0, "x", { turn: { name: "ports", seen } })));
  await waitUntil(() => gate.waiting === 3);
  assert.equal(isSettled, false);
  gate.open();
  assert.deepEqual(await Promise.all([first, again, other, elsewhere]), [
    "committed",
    "committed",
    "turn",
    "committed",
  ]);
  const encoded = { ...toUnversioned("x", "none"), decode: () => undefined };
  // The owner takes its turns beside the others.
  const owners = await cache.put(`${prefix}c1`, 0, encoded, { turn });
  assert.deepEqual(owners.ok || owners.failed, "turn");
  const fresh = await cache.put(`${prefix}c1`, 0, encoded, { turn: { ...turn, seen: cache.revision } });
  assert.ok(fresh.ok);
  // A process that took it before and after another one has not seen that.
  assert.equal(await outcomeOf(a.log.commit(writeOf("a3", 0, "x", { turn }))), "turn");
  await a.log.latest();
  assert.equal(
    await outcomeOf(a.log.commit(writeOf("a3", 0, "x", { turn: { ...turn, seen: a.log.revision } }))),
    "committed",
  );
  assert.equal(await outcomeOf(a.log.commit(writeOf("a4", 0, "x", { turn }))), "turn");
  assert.equal(
    await outcomeOf(b.log.commit(writeOf("b3", 0, "x", { turn: { ...turn, seen: everything } }))),
    "committed",
  );
});

test("a write whose turn was refused leaves the turn to others", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const turn = { name: "addresses", seen: a.log.revision };
  assert.equal(await outcomeOf(a.log.commit(writeOf("a", 5, "x", { turn }))), "key");
  assert.equal(await outcomeOf(b.log.commit(writeOf("b", 0, "x", { turn }))), "committed");
});

test("after the owner was started again, turns that were seen before are refused", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const seen = a.log.revision;
  const revision = await committed(a.log.commit(writeOf("a", 0, "x", { turn: { name: "addresses", seen } })));
  await processes.owner.store.cache.close();
  await processes.startOwner();
  for (const { log } of [a, b]) {
    assert.equal(await outcomeOf(log.commit(writeOf("b", 0, "x", { turn: { name: "addresses", seen } }))), "turn");
  }
  assert.ok((await b.log.latest()) >= revision);
  const turn = { name: "addresses", seen: b.log.revision };
  assert.equal(await outcomeOf(b.log.commit(writeOf("b", 0, "x", { turn }))), "committed");
});

test("a write requires keys of other processes as they are", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const lease = await committed(a.log.commit(writeOf("lease", 0, "a")));
  const requires = [{ key: `${prefix}lease`, revision: lease }];
  const one = await committed(b.log.commit(writeOf("k", 0, "x", { requires })));
  await committed(a.log.commit(writeOf("lease", lease, "b")));
  assert.equal(await outcomeOf(b.log.commit(writeOf("k", one, "y", { requires }))), "requires");
});

test("a key that expires goes everywhere", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await join(t, processes)];
  await committed(a.log.commit(writeOf("k", 0, "x", { ttlSeconds: 1 })));
  for (const { follower } of [a, b]) await waitUntil(() => follower.events.length === 2 && follower.entries.size === 0);
});

test("all processes know that the disk is full, and when it no longer is", async (t) => {
  const full = path.join(tmpdir(), `binnacle-full-${process.pid}`);
  t.after(() => rmSync(full, { force: true }));
  const processes = await start(t, { faults: { fullWhile: full } });
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  writeFileSync(full, "");
  await assert.rejects(a.log.commit(writeOf("l", 0, "x")), StorageFull);
  await waitUntil(() => a.log.full !== undefined && b.log.full !== undefined);
  assert.equal(b.log.full?.message, processes.owner.store.cache.full?.message);
  await committed(b.log.commit(writeOf("k", revision, undefined)));
  rmSync(full);
  await waitUntil(() => a.log.full === undefined && b.log.full === undefined);
  await committed(b.log.commit(writeOf("l", 0, "x")));
});

test("a log that has failed is known to all processes", async (t) => {
  const processes = await start(t, { faults: { failCommit: 2 } });
  const a = await join(t, processes);
  await committed(a.log.commit(writeOf("k", 0, "x")));
  await assert.rejects(a.log.commit(writeOf("l", 0, "x")), /the store has failed/);
  await waitUntil(() => a.log.failure !== undefined);
  assert.match(a.log.failure!.message, /the store has failed/);
});

test("a process ends when the log has gone back behind what it has shown", async (t) => {
  const processes = await start(t);
  let failure: Error | undefined;
  const a = await join(t, processes, { goneBack: (error) => (failure = error) });
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  await processes.owner.store.cache.close();
  rmSync(path.join(processes.folder, "data"), { recursive: true });
  await processes.startOwner();
  await waitUntil(() => failure !== undefined);
  assert.match(failure!.message, new RegExp(`the log is at revision 0, and was at ${revision}`));
  assert.equal(a.log.failure, failure);
  await assert.rejects(a.log.commit(writeOf("k", 0, "x")), failure);
});

test("fresh reads go on while the next owner loads the log, and then see what nobody has shown before", async (t) => {
  const loading = new Gate();
  const processes = await start(t, { wrap: (log) => new SlowlyLoadedLog(log, loading) });
  const a = await join(t, processes);
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  await processes.owner.store.cache.close();
  // This is durable, and its owner has ended before anybody has heard of it.
  const untold = await openSqliteStore({ clock: systemClock, dataDir: path.join(processes.folder, "data") });
  await untold.cache.put(`${prefix}l`, 0, { ...toUnversioned("y", "none"), decode: () => undefined });
  const next = untold.cache.revision;
  await untold.cache.close();
  loading.close();
  const started = processes.startOwner();
  await waitUntil(() => loading.waiting === 1);
  assert.equal(a.log.latest(), revision);
  loading.open();
  await started;
  assert.equal(await a.log.latest(), next);
  assert.equal(a.follower.revision, next);
});

test("a file of the revision that is torn is noticed, and the owner is asked", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await join(t, processes)];
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  const file = path.join(processes.folder, "revision");
  const whole = readFileSync(file);
  for (const torn of [
    Buffer.concat([whole.subarray(0, 8), Buffer.alloc(8)]),
    whole.subarray(0, 12),
    Buffer.alloc(16, 0xff),
    Buffer.alloc(0),
  ]) {
    writeFileSync(file, torn);
    const latest = b.log.latest();
    assert.ok(latest instanceof Promise);
    assert.equal(await latest, revision);
  }
  const next = await committed(a.log.commit(writeOf("k", revision, "y")));
  assert.deepEqual(readFileSync(file).subarray(0, 8), readFileSync(file).subarray(8));
  assert.equal(await b.log.latest(), next);
});

test("another file of the revision, which the next owner makes, is read", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  await processes.owner.store.cache.close();
  rmSync(path.join(processes.folder, "revision"));
  await waitUntil(() => a.log.latest() === revision);
  await processes.startOwner();
  const written = await processes.owner.store.cache.put(`${prefix}l`, 0, {
    ...toUnversioned("y", "none"),
    decode: () => undefined,
  });
  assert.ok(written.ok);
  assert.equal(await a.log.latest(), written.entry.revision);
  assert.equal(a.follower.entries.size, 2);
});

test("a file of the revision that cannot be written ends all writes, and what was not shown stays so", async (t) => {
  const processes = new Processes();
  // It says 0, and is full.
  symlinkSync("/dev/full", path.join(processes.folder, "revision"));
  await processes.startOwner();
  t.after(() => processes.stop());
  const a = await join(t, processes);
  const { cache } = processes.owner.store;
  await assert.rejects(a.log.commit(writeOf("k", 0, "x")), /the store has failed.*ENOSPC/);
  const encoded = { ...toUnversioned("x", "none"), decode: () => undefined };
  await assert.rejects(cache.put(`${prefix}l`, 0, encoded), /the store has failed.*ENOSPC/);
  assert.match(cache.failure?.message ?? "", /the store has failed/);
  await waitUntil(() => a.log.failure !== undefined);
  await cache.fresh();
  assert.deepEqual([cache.revision, cache.count(prefix), await a.log.latest(), a.follower.entries.size], [0, 0, 0, 0]);
  assert.match(processes.warnings.join(), /the file of the revision .* has failed/);
});

test("a process says so when there is no file of the revision", async (t) => {
  const processes = await start(t);
  rmSync(path.join(processes.folder, "revision"));
  await assert.rejects(processes.openLog(), (error) => {
    assert.ok(error instanceof StorageFailure);
    return /the file of the revision .* has failed: ENOENT/.test(error.message);
  });
});

test("bytes that are no message end the connection, and nothing else", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  const hello = frameOf(toOwner, { kind: "hello", protocol: protocolName });
  const lengthOf = (length: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(length);
    return bytes;
  };
  const commit = frameOf(toOwner, { kind: "commit", id: 1, write: writeOf("k", 0, "x") });
  const cases: readonly (readonly [string, RegExp, ...Buffer[]])[] = [
    ["another protocol", /no frame is \d+ bytes long/, Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a length of 0", /no frame is 0 bytes long/, hello, lengthOf(0)],
    ["a length that is too long", /no frame is 4294967295 bytes long/, hello, lengthOf(0xffffffff)],
    ["an unknown kind", /there is no kind 99/, hello, lengthOf(1), Buffer.from([99])],
    ["a frame that is too short", /ends within a field/, hello, lengthOf(3), Buffer.from([1, 0, 0])],
    ["bytes after the last field", /bytes after its last field/, hello, longer(commit)],
    ["a list that is too long", /ends within a field/, hello, withRequires(commit, 0xffffffff)],
    ["no greeting", /the first message is not a greeting/, commit],
    ["another version", /does not speak/, frameOf(toOwner, { kind: "hello", protocol: "binnacle log 0" })],
  ];
  for (const [name, expected, ...pieces] of cases) {
    processes.warnings.length = 0;
    const socket = createConnection(path.join(processes.folder, "log.sock"));
    socket.on("error", () => undefined);
    socket.resume();
    const closed = new Promise((resolve) => socket.on("close", resolve));
    for (const piece of pieces) socket.write(piece);
    await closed;
    await waitUntil(() => processes.warnings.length > 0);
    assert.match(processes.warnings.join(), expected, name);
  }
  // A process that comes again with the same problem is told of once.
  processes.warnings.length = 0;
  for (let at = 0; at < 3; at++) {
    const socket = createConnection(path.join(processes.folder, "log.sock"));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    socket.resume();
    socket.write(cases.at(-1)![2]!);
    await closed;
  }
  await committed(a.log.commit(writeOf("before", 0, "x")));
  assert.deepEqual(processes.warnings, []);
  // A frame that does not end costs nobody anything.
  const slow = createConnection(path.join(processes.folder, "log.sock"));
  t.after(() => slow.destroy());
  slow.write(Buffer.concat([hello, lengthOf(60_000_000), Buffer.alloc(1000)]));
  await committed(a.log.commit(writeOf("k", 0, "x")));
});

test("a process that is told what cannot be ends the connection, and loses nothing", async (t) => {
  const processes = await start(t);
  const [a, b] = [await join(t, processes), await joinByLine(t, processes, "b")];
  const cases: readonly (readonly [RegExp, Buffer])[] = [
    [/no frame is/, Buffer.alloc(100)],
    [
      /there is no write 77/,
      frameOf(fromOwner, { kind: "changed", revision: 1e6, changes: [{ kind: "own", id: 77, isStale: false }] }),
    ],
    [/has no change/, frameOf(fromOwner, { kind: "changed", revision: 1e6, changes: [] })],
    [/nothing with the number 78/, frameOf(fromOwner, { kind: "answer", id: 78, body: Buffer.alloc(3) })],
  ];
  let revision = 0;
  for (const [expected, bytes] of cases) {
    processes.warnings.length = 0;
    b.line.inject("in", bytes);
    await waitUntil(() => processes.warnings.length > 0);
    assert.match(processes.warnings[0]!, expected);
    revision = await committed(a.log.commit(writeOf("k", revision, "x")));
    await heard(b.follower, revision);
  }
  assert.deepEqual(b.follower.texts, a.follower.texts);
  assert.equal(b.line.connections, cases.length + 1);
});

test("a change that comes after its write was answered keeps the connection, and all fresh reads wait for it", async (t) => {
  const processes = await start(t, { wrap: (log) => new DelayedLog(log, seededRandom(1)) });
  const [a, b] = [await join(t, processes), await joinByLine(t, processes, "b")];
  let revision = 0;
  for (let at = 0; at < 30; at++) {
    revision = await committed(b.log.commit(writeOf("k", revision, String(at))));
    assert.ok((await a.log.latest()) >= revision);
    assert.equal(a.follower.entries.get(`${prefix}k`)?.revision, revision);
  }
  await heard(b.follower, revision);
  assert.ok(
    b.follower.events.some(({ write }) => write === undefined),
    "a change came after the answer",
  );
  assert.deepEqual(b.follower.texts, a.follower.texts);
  assert.deepEqual([processes.warnings, b.line.connections], [[], 1]);
});

test("the work on the log is done by the owner", async (t) => {
  const processes = await start(t);
  const { log } = await join(t, processes);
  let revision = 0;
  for (let at = 0; at < 20; at++) revision = await committed(log.commit(writeOf("k", revision, "x".repeat(1000))));
  await log.probe();
  await waitUntil(() => log.size.fileBytes > 0);
  const backup = path.join(processes.folder, "backup");
  assert.equal(await log.backup(backup), revision);
  assert.ok(statSync(backup).size > 0);
  const versions = await log.versions(`${prefix}k`, revision + 1, 5);
  assert.equal(versions.versions.length, 5);
  assert.equal((await log.drop({ revision })).revision, revision);
  await waitUntil(() => log.compactedRevision === revision);
});

test("keys whose values would be stored in another form are known to all processes", async (t) => {
  let forms!: FormLog;
  const processes = await start(t, { wrap: (log) => (forms = new FormLog(log)) });
  const a = await join(t, processes);
  const names = ["k", "l", "m"];
  for (const name of names) await committed(a.log.commit(writeOf(name, 0, "x")));
  forms.stale.add(`${prefix}l`);
  const b = await join(t, processes);
  const staleOf = (log: RemoteLog): readonly string[] => names.filter((name) => log.isStale(prefix + name));
  assert.deepEqual([staleOf(a.log), staleOf(b.log)], [[], ["l"]]);
  const revisionOf = (name: string): Revision => a.follower.entries.get(prefix + name)!.revision;
  forms.stale.add(`${prefix}m`);
  await committed(a.log.commit(writeOf("m", revisionOf("m"), "y")));
  await b.log.latest();
  assert.deepEqual([staleOf(a.log), staleOf(b.log)], [["m"], ["l", "m"]]);
  // Another form has come into force, and values are stored in it from now on.
  forms.change();
  await waitUntil(() => a.log.isStale(`${prefix}k`) && b.log.isStale(`${prefix}k`));
  assert.deepEqual(staleOf(a.log), names);
  forms.stale.clear();
  await committed(b.log.commit(writeOf("l", revisionOf("l"), "z")));
  await a.log.latest();
  assert.deepEqual(
    [staleOf(a.log), staleOf(b.log)],
    [
      ["k", "m"],
      ["k", "m"],
    ],
  );
});

test("keys are not stale because the owner was started again", async (t) => {
  const processes = await start(t, { wrap: (log) => new FormLog(log) });
  const a = await join(t, processes);
  const revision = await committed(a.log.commit(writeOf("k", 0, "x")));
  await processes.owner.store.cache.close();
  await processes.startOwner();
  const next = await committed(a.log.commit(writeOf("l", 0, "y")));
  assert.equal(await a.log.latest(), next);
  assert.deepEqual([a.log.isStale(`${prefix}k`), a.log.isStale(`${prefix}l`)], [false, false]);
  assert.ok(next > revision);
});

test("a value that can be read again is told to all processes", async (t) => {
  let forms!: FormLog;
  const processes = await start(t, { wrap: (log) => (forms = new FormLog(log)) });
  const unread = { bytes: Buffer.alloc(0), revisionOffset: -1 };
  const log = await processes.openLog();
  t.after(() => log.close());
  const cache = await LogWatchCache.open(log, { clock: systemClock });
  await cache.fresh();
  const key = `${prefix}k`;
  const revision = processes.owner.store.cache.revision + 1;
  forms.follower.changed([{ key, value: unread, revision, unreadable: "the key is missing", write: undefined }]);
  await cache.fresh();
  assert.deepEqual([cache.get(key)?.unreadable, cache.get(key)?.value.length], ["the key is missing", 0]);
  forms.follower.recovered([{ key, value: toUnversioned("clear", "none"), revision }]);
  await waitUntil(() => cache.get(key)?.unreadable === undefined);
  assert.equal(cache.get(key)?.value.toString(), "clear");
});

test("large writes and large reads of many at once wait for room, and none is refused", async (t) => {
  const processes = await start(t);
  const a = await join(t, processes);
  const text = "x".repeat(2_000_000);
  const writes = Array.from({ length: 40 }, (_, at) => a.log.commit(writeOf(`k${at}`, 0, text)));
  const revisions = await Promise.all(writes.map(committed));
  const at = Math.max(...revisions);
  const ranges = await Promise.all(Array.from({ length: 20 }, () => a.log.range(prefix, { at, limit: 3 })));
  for (const range of ranges) assert.ok(!isCompacted(range) && range.entries.length === 3);
  assert.deepEqual(processes.warnings, []);
});

test("a folder in which no socket can be made is named, and the store is closed again", async (t) => {
  const folder = path.join(tmpdir(), `binnacle-${"long".repeat(30)}`);
  mkdirSync(folder, { recursive: true });
  t.after(() => rmSync(folder, { recursive: true }));
  const options = { clock: systemClock, dataDir: path.join(folder, "data") };
  const wrap = (log: LogStore): LogStore => new ServedLog(log, { folder, clock: systemClock, warn: () => undefined });
  await assert.rejects(openSqliteStore({ ...options, wrap }), (error) => {
    assert.ok(error instanceof StorageFailure);
    return error.message.startsWith(`the log cannot be served at ${folder}/log.sock: `);
  });
  const { cache } = await openSqliteStore(options);
  await cache.close();
});

test("a log that is closed while it is cut off, or catches up, has no connection afterwards", async (t) => {
  const processes = await start(t);
  const b = await joinByLine(t, processes, "b");
  b.line.isCut = true;
  const c = await joinByLine(t, processes, "c");
  c.line.stop("in");
  c.line.drop();
  await waitUntil(() => c.line.connections === 2);
  await b.log.close();
  await c.log.close();
  c.line.goOn();
  b.line.isCut = false;
  await waitUntil(() => c.line.open === 0 && b.line.open === 0);
  await assert.rejects(b.log.commit(writeOf("k", 0, "x")), /the store is closed/);
  await assert.rejects(async () => b.log.latest(), /the store is closed/);
});

/** A log that does something before it answers a read of the past. */
class InterruptedLog extends ForwardingLog {
  beforeRange: () => Promise<void> = () => Promise.resolve();
  beforeHistory: () => Promise<boolean> = () => Promise.resolve(true);
  /** The number of changes that ranges have undone. */
  changesRead = 0;

  override async range(prefix: string, options: LogRangeOptions): ReturnType<LogStore["range"]> {
    await this.beforeRange();
    const undone = options.undone ?? { replaced: new Map(), reached: options.at };
    const { reached } = undone;
    const range = await super.range(prefix, { ...options, undone });
    this.changesRead += undone.reached - reached;
    return range;
  }

  override async history(...args: Parameters<LogStore["history"]>): ReturnType<LogStore["history"]> {
    return (await this.beforeHistory()) ? super.history(...args) : undefined;
  }
}

test("a state that is compacted while it is read is read again from the start", async (t) => {
  let own!: InterruptedLog;
  const processes = await start(t, { wrap: (log) => (own = new InterruptedLog(log)) });
  const a = await join(t, processes);
  for (let at = 0; at < 40; at++) await committed(a.log.commit(writeOf(`k${at}`, 0, "1")));
  const { cache } = processes.owner.store;
  let pages = 0;
  own.beforeRange = async () => {
    if (++pages !== 2) return;
    const revision = await committed(a.log.commit(writeOf("k0", a.follower.entries.get(`${prefix}k0`)!.revision, "2")));
    await cache.compact(revision);
  };
  const b = await join(t, processes);
  assert.ok(pages > 3);
  assert.deepEqual(b.follower.texts, a.follower.texts);
  assert.equal(b.follower.reloads, 0);
});

test("a process joins while others write, and no change is read twice for its pages", async (t) => {
  let own!: InterruptedLog;
  const processes = await start(t, { wrap: (log) => (own = new InterruptedLog(log)) });
  const a = await join(t, processes);
  const revisions = await Promise.all(
    Array.from({ length: 400 }, (_, at) => committed(a.log.commit(writeOf(`k${at}`, 0, "1")))),
  );
  const began = a.log.revision;
  let pages = 0;
  own.beforeRange = async () => {
    pages++;
    // Keys of pages to come and of pages before are changed, deleted and made.
    await a.log.latest();
    const name = `k${pages * 7}`;
    const again = await committed(a.log.commit(writeOf(name, revisions[pages * 7]!, "2")));
    await committed(a.log.commit(writeOf(name, again, undefined)));
    await committed(a.log.commit(writeOf(`k${pages * 7}new`, 0, "3")));
  };
  const log = await processes.openLog();
  t.after(() => log.close());
  const follower = new RecordingFollower();
  const loaded = new RecordingFollower();
  await log.follow({
    load(entry) {
      follower.load(entry);
      loaded.load(entry);
    },
    changed: (events) => follower.changed(events),
    progressed: (revision) => follower.progressed(revision),
    reloaded: () => assert.fail("everything is in history"),
    compacted: (revision) => follower.compacted(revision),
    recovered: () => follower.recovered(),
  });
  assert.ok(pages > 3);
  assert.equal(own.changesRead, 3 * pages);
  assert.deepEqual(new Set([...loaded.entries.values()].map(({ revision }) => revision)), new Set(revisions));
  assert.ok(revisions.every((revision) => revision <= began));
  await log.latest();
  assert.deepEqual(follower.texts, a.follower.texts);
});

for (const { changes, length, rounds, what } of [
  { changes: 1200, length: 1, rounds: 1, what: "than a page of history has" },
  { changes: 400, length: 2000, rounds: 3, what: "than a page of history has room for" },
  { changes: 2000, length: 1, rounds: 1, what: "than it can read meanwhile" },
])
  test(`a process joins although more changes come with each answer ${what}`, async (t) => {
    let own!: InterruptedLog;
    const processes = await start(t, { wrap: (log) => (own = new InterruptedLog(log)) });
    const a = await join(t, processes);
    const revisions: Revision[] = [];
    const changeAll = async (): Promise<void> => {
      const text = "x".repeat(length);
      const writes = Array.from({ length: changes }, (_, at) => writeOf(`k${at}`, revisions[at] ?? 0, text));
      const changed = await Promise.all(writes.map((write) => committed(a.log.commit(write))));
      for (const [at, revision] of changed.entries()) revisions[at] = revision;
    };
    await changeAll();
    own.beforeRange = async () => {
      own.beforeRange = () => Promise.resolve();
      for (let round = 0; round < rounds; round++) await changeAll();
    };
    // Questions are answered at the same time, when no more come.
    let answers = 0;
    let questions = 0;
    let answering: Promise<void> | undefined;
    own.beforeHistory = async () => {
      questions++;
      answering ??= (async () => {
        for (let before = 0; before < questions; await sleep(100)) before = questions;
        if (answers++ < 20) await changeAll();
        answering = undefined;
      })();
      await answering;
      return true;
    };
    const b = await join(t, processes);
    assert.ok(answers < 15, `history was answered ${answers} times`);
    await b.log.latest();
    assert.deepEqual(b.follower.texts, a.follower.texts);
  });

test("changes go on while a process that comes back reads what it missed, and after the owner could not tell it", async (t) => {
  let own!: InterruptedLog;
  const processes = await start(t, { wrap: (log) => (own = new InterruptedLog(log)) });
  const [a, b] = [await join(t, processes), await joinByLine(t, processes, "b")];
  for (const isKept of [true, false]) {
    b.line.isCut = true;
    let revision = await committed(a.log.commit(writeOf(`k${isKept}`, 0, "0")));
    let isAnswered = false;
    own.beforeHistory = async () => {
      // The process is told of these while it waits for what was before them.
      for (let at = 1; at <= 20 && !isAnswered; at++) {
        revision = await committed(a.log.commit(writeOf(`k${isKept}`, revision, String(at))));
      }
      const isFirst = !isAnswered;
      isAnswered = true;
      return isKept || !isFirst;
    };
    b.line.isCut = false;
    await waitUntil(() => isAnswered && b.follower.revision >= revision);
    assert.equal(b.follower.reloads, isKept ? 0 : 1);
    assert.deepEqual(b.follower.texts, a.follower.texts);
    await committed(b.log.commit(writeOf(`k${isKept}`, revision, "last")));
  }
});
