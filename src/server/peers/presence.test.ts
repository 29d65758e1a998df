/** The records of servers that share a log, with clocks that stand still. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { AppliedRevision } from "#registry/applied-revision.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import { openMemoryStore } from "#storage/memory.ts";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { Presence } from "./presence.ts";
import { type PeerRecord, recordPrefix, type SharedSettings } from "./record.ts";

const settings: SharedSettings = {
  issuers: [],
  signingKey: "",
  verificationKeys: [],
  clientAuthorities: [],
  serviceRanges: [],
  nodePorts: "",
  encryption: [],
};

const someKey = "/registry/rbac.authorization.k8s.io/clusterroles/a";

const pass = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
};

async function open(t: TestContext, shared: SharedLog, id: string) {
  const clock = new FakeClock();
  const log = shared.open();
  const cache = await openMemoryStore({ clock, wrap: () => log });
  const applied = new AppliedRevision();
  const follower = { position: 0 };
  applied.add(follower);
  const about = { host: "h", address: "10.0.0.1", port: 6443, isEndpoint: true, version: "1", started: "" };
  let changes = 0;
  const presence = new Presence({
    cache,
    clock,
    log: silentLog,
    id,
    applied,
    describe: () => ({ ...about, settings }),
    changed: () => changes++,
  });
  t.after(async () => {
    await presence.close();
    await cache.close();
  });
  /** Takes in everything that the cache has. */
  const takeIn = (): void => {
    follower.position = cache.revision;
    applied.reached(cache.revision);
  };
  const writes = (): number => log.commits.filter((key) => key === recordPrefix + id).length;
  /** Advances the clock by a time, in steps in which others have their turns. */
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await pass();
    }
  };
  const serve = async (): Promise<void> => {
    follower.position = Number.POSITIVE_INFINITY;
    const serving = presence.serve();
    let isOver = false;
    void serving.then(() => (isOver = true));
    while (!isOver) await advance(10);
  };
  return { presence, clock, cache, log, takeIn, follower, applied, writes, advance, serve, changes: () => changes };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Returns the record that a server reads of the other one. */
function other({ presence }: Opened): PeerRecord {
  const { others } = presence;
  assert.equal(others.length, 1);
  return others[0]!;
}

const write = (shared: SharedLog): number => shared.change(new Map([[someKey, withoutRevision(Buffer.from("x"))]]));

/** Opens two servers on one log, which have entered and serve. */
async function openPair(t: TestContext) {
  const shared = new SharedLog();
  const [a, b] = [await open(t, shared, "a"), await open(t, shared, "b")];
  await a.presence.enter();
  await b.presence.enter();
  await a.serve();
  await b.serve();
  return { shared, a, b };
}

test("servers find each other, and say when they have taken in a change", async (t) => {
  const shared = new SharedLog();
  const a = await open(t, shared, "a");
  await a.presence.enter();
  await a.serve();
  assert.deepEqual(a.presence.others, []);
  // Nobody reads what it has taken in.
  const alone = a.writes();
  write(shared);
  a.takeIn();
  await a.advance(100);
  assert.equal(a.writes(), alone);
  const b = await open(t, shared, "b");
  const entered = await b.presence.enter();
  await pass();
  // The server that was there shows that it lives, and the new one does not answer requests yet.
  assert.ok(other(b).revision > entered);
  assert.deepEqual(
    a.presence.others.map(({ id, applied }) => [id, applied]),
    [["b", 0]],
  );
  await a.advance(20);
  await b.serve();
  await a.advance(20);
  const revision = write(shared);
  await pass();
  assert.ok(other(a).applied < revision);
  b.follower.position = 0;
  b.applied.reached(revision);
  await b.advance(50);
  // A part of what decides about requests is behind.
  assert.ok(other(a).applied < revision);
  b.takeIn();
  await b.advance(20);
  assert.ok(other(a).applied >= revision);
});

test("many changes are said in few writes", async (t) => {
  const { shared, a } = await openPair(t);
  await a.advance(50);
  const before = a.writes();
  for (let ms = 0; ms < 100; ms += 10) {
    for (let count = 0; count < 10; count++) {
      write(shared);
      a.takeIn();
      await pass();
    }
    await a.advance(10);
  }
  assert.ok(a.writes() - before <= 12, `${a.writes() - before} writes for 100 changes in 100 ms`);
});

test("a server that is asked says what it has taken in, whether it has heard of a change or not", async (t) => {
  const { shared, a, b } = await openPair(t);
  await b.advance(20);
  const revision = write(shared);
  await b.advance(50);
  assert.ok(other(a).applied < revision);
  a.presence.ask(revision);
  await a.advance(20);
  await b.advance(20);
  assert.ok(other(a).applied >= revision);
});

test("a record is renewed, comes back when it was lost, and is gone at the end", async (t) => {
  const shared = new SharedLog();
  const [a, b] = [await open(t, shared, "a"), await open(t, shared, "b")];
  await a.presence.enter();
  const entered = await b.presence.enter();
  const first = other(a);
  await b.advance(3010);
  const second = other(a);
  assert.ok(second.revision > first.revision);
  assert.equal(second.since, entered);
  shared.expireKeysOf(b.log);
  await pass();
  assert.deepEqual(a.presence.others, []);
  assert.ok(a.changes() > 0);
  await b.advance(3010);
  assert.equal(other(a).id, "b");
  b.presence.leave();
  await b.advance(20);
  assert.equal(other(a).isStopping, true);
  await b.presence.close();
  await pass();
  assert.deepEqual(a.presence.others, []);
});

test("a server whose store cannot be written ends in time, and a record that nobody writes is forgotten", async (t) => {
  const shared = new SharedLog();
  const [a, b] = [await open(t, shared, "a"), await open(t, shared, "b")];
  await a.presence.enter();
  await b.presence.enter();
  b.log.isCut = true;
  const closing = b.presence.close();
  b.clock.advance(2000);
  await closing;
  assert.equal(a.presence.others.length, 1);
  await a.advance(10);
  a.clock.advance(60_000);
  assert.deepEqual(a.presence.others, []);
});

test("a server that stood still comes back before it answers, and one that is cut off waits a second once", async (t) => {
  const shared = new SharedLog();
  const a = await open(t, shared, "a");
  await a.presence.enter();
  assert.equal(a.presence.comeBack(), undefined);
  await a.serve();
  assert.equal(a.presence.comeBack(), undefined);
  shared.expireKeysOf(a.log);
  a.clock.block(8000);
  a.follower.position = 1;
  let isBack = false;
  const returning = a.presence.comeBack();
  void returning!.then(() => (isBack = true));
  await a.advance(50);
  // A change of that time is not taken in yet.
  assert.equal(isBack, false);
  a.follower.position = Number.POSITIVE_INFINITY;
  await a.advance(20);
  assert.equal(isBack, true);
  assert.equal(a.presence.comeBack(), undefined);
  a.log.isCut = true;
  await a.advance(8000);
  const waiting = a.presence.comeBack();
  isBack = false;
  void waiting!.then(() => (isBack = true));
  await a.advance(990);
  assert.equal(isBack, false);
  await a.advance(10);
  assert.equal(isBack, true);
  assert.equal(a.presence.comeBack(), undefined);
  a.log.isCut = false;
});

test("a server whose machine was suspended comes back, although its monotonic clock stood still", async (t) => {
  const shared = new SharedLog();
  const a = await open(t, shared, "a");
  await a.presence.enter();
  await a.serve();
  shared.expireKeysOf(a.log);
  a.clock.suspend(8000);
  let isBack = false;
  const returning = a.presence.comeBack();
  assert.ok(returning !== undefined);
  void returning.then(() => (isBack = true));
  await a.advance(20);
  assert.equal(isBack, true);
  assert.ok(shared.entriesAt(shared.revision).some(({ key }) => key === `${recordPrefix}a`));
  assert.equal(a.presence.comeBack(), undefined);
});
