/** Writes whose answers are lost, late or wrong, on an etcd in memory: their callers are told what is true. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { OutcomeUnknown, type Revision, StorageFull, StoreFailed } from "../log-store.ts";
import { toUnversioned } from "../versioned-value.ts";
import type { Entry, PutOptions, WriteResult } from "../watch-cache.ts";
import { LogWatchCache } from "../watch-cache/log-watch-cache.ts";
import { type EtcdClient, EtcdError, type KnownVersion } from "./client.ts";
import { FakeEtcdClient, methodsOf } from "./fake-etcd-client-for-tests.ts";
import { FakeEtcd, noMishaps } from "./fake-etcd-for-tests.ts";
import { EtcdKeys } from "./keys.ts";
import { EtcdLog } from "./log.ts";

const key = "/registry/core/pods/ns/a";
const keys = new EtcdKeys("registry", new Map([["core/pods", "pods"]]));

/** Three members, of which the first one leads, and servers on them. */
class Cluster {
  readonly clock = new FakeClock(0);
  readonly etcd = new FakeEtcd({ clock: this.clock, random: seededRandom(1) });

  /** Opens the store of a server that uses a member. */
  async open(t: TestContext, member: number): Promise<LogWatchCache> {
    const cache = await this.pass(LogWatchCache.open(await this.openLog(member), { clock: this.clock }));
    t.after(() => this.pass(cache.close()));
    return cache;
  }

  clientOf(member: number): FakeEtcdClient {
    return new FakeEtcdClient(this.etcd, `s${member}`, member);
  }

  openLog(
    member: number,
    wrap: (client: EtcdClient) => EtcdClient = (client) => client,
    missedMax?: number,
  ): Promise<EtcdLog> {
    const { clock } = this;
    const opening = EtcdLog.open({
      client: wrap(this.clientOf(member)),
      keys,
      clock,
      random: seededRandom(member),
      readForeign: (_key, bytes) => bytes,
      compactionIntervalMs: 0,
      leaseReuseSeconds: 60,
      ...(missedMax === undefined ? {} : { missedMax }),
    });
    return this.pass(opening);
  }

  /** Resolves with a promise, while time passes. */
  async pass<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    work.then(settle, settle);
    while (!isSettled) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advanceToNext();
    }
    return work;
  }

  /** Lets some time pass. */
  sleep(ms: number): Promise<void> {
    return this.pass(new Promise((resolve) => void this.clock.after(ms, () => resolve())));
  }

  put(cache: LogWatchCache, expected: Revision, text: string, options?: PutOptions): Promise<WriteResult> {
    const value = toUnversioned(`{"resourceVersion":"","text":"${text}"}`, '"resourceVersion":"');
    return cache.put(key, expected, { ...value, decode: () => undefined }, options);
  }

  async present(cache: LogWatchCache): Promise<Entry | undefined> {
    return this.pass((async () => cache.getFresh(key))());
  }

  /** Writes a key as another program, without waiting for the answer. */
  async change(at: string, text: string): Promise<void> {
    const value = Buffer.from(`{"resourceVersion":"","text":"${text}"}`);
    const then = [{ kind: "put", key: keys.toEtcd(at), value } as const];
    const client = new FakeEtcdClient(this.etcd, "other");
    const writing = client.transact({ compare: [], then, otherwise: [] }, { timeoutMs: 500 });
    writing.catch(() => undefined);
    await this.sleep(1000);
    client.close();
  }

  /** Cuts a server off from all members. */
  cutOff(server: string): void {
    for (const { name } of this.etcd.members) {
      this.etcd.cut(name, server);
      this.etcd.cut(server, name);
    }
  }

  /** Puts etcd back to what it was before a revision, and starts its members again. */
  async restore(revision: Revision, bump = 0): Promise<void> {
    const { etcd } = this;
    etcd.restore(etcd.store.indexBefore(revision), { bump, isCompacted: bump > 0 });
    for (const member of etcd.members) member.start();
    await this.sleep(3000);
  }

  /** Makes a write whose first answer is lost, although it is done where it can be. */
  async withoutAnswer(write: () => Promise<WriteResult>): Promise<Promise<WriteResult>[]> {
    this.etcd.mishaps = { ...noMishaps, lostAnswer: 1 };
    const writing = write();
    await this.sleep(100);
    this.etcd.mishaps = noMishaps;
    return [writing];
  }
}

function revisionOf(result: WriteResult): Revision {
  assert.ok(result.ok);
  return result.entry.revision;
}

test("a write without an answer is told done when its change is heard", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const [writing] = await cluster.withoutAnswer(() => cluster.put(cache, 0, "1"));
  const revision = revisionOf(await cluster.pass(writing!));
  assert.equal((await cluster.present(cache))?.revision, revision);
});

test("a creation without an answer is not done again when another server has deleted the object since", async (t) => {
  const cluster = new Cluster();
  const [a, b] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  const [writing] = await cluster.withoutAnswer(() => cluster.put(a, 0, "1"));
  const created = await cluster.present(b);
  assert.ok((await cluster.pass(b.remove(key, created!.revision))).ok);
  assert.equal(revisionOf(await cluster.pass(writing!)), created!.revision);
  assert.equal(await cluster.present(b), undefined);
});

test("a creation that arrives late, after it was sent again and the object deleted, is not done", async (t) => {
  const cluster = new Cluster();
  const [a, b] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  cluster.etcd.mishaps = { ...noMishaps, lateCall: 1 };
  cluster.etcd.members[1]!.stop();
  const revision = revisionOf(await cluster.pass(cluster.put(a, 0, "1")));
  await cluster.present(b);
  assert.ok((await cluster.pass(b.remove(key, revision))).ok);
  cluster.etcd.members[1]!.start();
  await cluster.sleep(5000);
  assert.equal(await cluster.present(b), undefined);
  assert.equal(await cluster.present(a), undefined);
});

test("a write that requires that a key does not exist, and arrives late, is not done after it was refused", async (t) => {
  const cluster = new Cluster();
  const [a, b] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  const other = "/registry/core/pods/ns/b";
  const value = { ...toUnversioned("{}", "-"), decode: () => undefined };
  const first = revisionOf(await cluster.pass(cluster.put(a, 0, "1")));
  cluster.etcd.mishaps = { ...noMishaps, lateCall: 1 };
  cluster.etcd.members[1]!.stop();
  const writing = cluster.put(a, first, "2", { requires: [{ key: other, revision: 0 }] });
  const blocking = revisionOf(await cluster.pass(b.put(other, 0, value)));
  const result = await cluster.pass(writing);
  assert.equal(result.ok ? undefined : result.failed, "requires");
  assert.ok((await cluster.pass(b.remove(other, blocking))).ok);
  cluster.etcd.members[1]!.start();
  await cluster.sleep(5000);
  assert.equal((await cluster.present(b))?.revision, first);
});

test("a deletion is not told done because another server has deleted a later version", async (t) => {
  const cluster = new Cluster();
  const [a, b] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  const first = revisionOf(await cluster.pass(cluster.put(b, 0, "1")));
  const second = revisionOf(await cluster.pass(cluster.put(b, first, "2")));
  await cluster.present(a);
  const [deleting] = await cluster.withoutAnswer(() => a.remove(key, first));
  assert.ok((await cluster.pass(b.remove(key, second))).ok);
  const result = await cluster.pass(deleting!);
  assert.ok(!result.ok);
  assert.equal(result.failed, "key");
});

test("a deletion whose changes were lost is not told failed because a later version is deleted, too", async (t) => {
  const cluster = new Cluster();
  const b = await cluster.open(t, 2);
  const first = revisionOf(await cluster.pass(cluster.put(b, 0, "1")));
  const client = cluster.clientOf(1);
  const elsewhere = cluster.clientOf(0);
  const noAnswer = (): never => {
    throw new EtcdError("unanswered", "the answer is lost");
  };
  // The first server hears nothing from its deletion on: it reads everything again once it can.
  const broken = new Set(["range", "transact"]);
  let isFirst = true;
  const transact: EtcdClient["transact"] = async (transaction, options) => {
    if (transaction.then[0]?.kind !== "delete" && !broken.has("transact")) return client.transact(transaction, options);
    if (!isFirst) return noAnswer();
    isFirst = false;
    broken.add("range");
    cluster.etcd.members[1]!.kill();
    await elsewhere.transact(transaction, options);
    return noAnswer();
  };
  const range: EtcdClient["range"] = async (request, options) =>
    broken.has("range") ? noAnswer() : client.range(request, options);
  broken.clear();
  const flaky = { ...methodsOf(client), transact, range };
  const log = await cluster.openLog(1, () => flaky, 0);
  const a = await cluster.pass(LogWatchCache.open(log, { clock: cluster.clock }));
  t.after(() => cluster.pass(a.close()));
  broken.add("transact");
  const deleting = cluster.pass(a.remove(key, first));
  deleting.catch(() => undefined);
  await cluster.sleep(500);
  assert.equal(await cluster.present(b), undefined);
  const second = revisionOf(await cluster.pass(cluster.put(b, 0, "2")));
  broken.delete("range");
  await cluster.sleep(2000);
  assert.equal(a.get(key)?.revision, second);
  assert.ok((await cluster.pass(b.remove(key, second))).ok);
  await cluster.sleep(100);
  assert.equal(a.get(key), undefined);
  broken.delete("transact");
  await assert.rejects(deleting, OutcomeUnknown);
});

test("a turn is not taken by the deletion of another server", async (t) => {
  const cluster = new Cluster();
  const [a, b] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  const revision = revisionOf(await cluster.pass(cluster.put(b, 0, "1")));
  await cluster.present(a);
  const turn = { name: "addresses", seen: a.revision };
  // The turn is taken, so that the deletion of the first server is refused; its answer is lost.
  const other = "/registry/core/pods/ns/b";
  const value = { ...toUnversioned("{}", "-"), decode: () => undefined };
  assert.ok((await cluster.pass(b.put(other, 0, value, { turn: { ...turn, seen: b.revision } }))).ok);
  const [deleting] = await cluster.withoutAnswer(() => a.remove(key, revision, { turn }));
  assert.ok((await cluster.pass(b.remove(key, revision))).ok);
  const result = await cluster.pass(deleting!);
  assert.ok(!result.ok);
  assert.equal(result.failed, "key");
});

test("a deletion that lost to another server before it began shows what is there now, not what was after that", async (t) => {
  const cluster = new Cluster();
  const b = await cluster.open(t, 2);
  const first = revisionOf(await cluster.pass(cluster.put(b, 0, "1")));
  const client = cluster.clientOf(1);
  // The first server hears of changes up to a revision, and no answer to its deletion.
  let heard = Number.POSITIVE_INFINITY;
  const held: { readonly revision: Revision; tell(): void }[] = [];
  const hear = (upTo: Revision): void => {
    heard = upTo;
    while (held.length > 0 && held[0]!.revision <= upTo) held.shift()!.tell();
  };
  const watch: EtcdClient["watch"] = (request, follower) =>
    client.watch(request, {
      ...follower,
      changed(changes, revision) {
        held.push({ revision, tell: () => follower.changed(changes, revision) });
        hear(heard);
      },
      progressed: (revision) => revision <= heard && held.length === 0 && follower.progressed(revision),
    });
  const transact: EtcdClient["transact"] = (transaction, options) =>
    transaction.then[0]?.kind === "delete"
      ? Promise.reject(new EtcdError("unanswered", "the answer is lost"))
      : client.transact(transaction, options);
  const log = await cluster.openLog(1, () => ({ ...methodsOf(client), watch, transact }));
  const a = await cluster.pass(LogWatchCache.open(log, { clock: cluster.clock }));
  t.after(() => cluster.pass(a.close()));
  await cluster.present(a);
  heard = a.revision;
  const { revision: deleted } = await cluster.pass(b.remove(key, first)).then(() => b);
  const second = revisionOf(await cluster.pass(cluster.put(b, 0, "2")));
  const deleting = a.remove(key, first, { turn: { name: "addresses", seen: a.revision } });
  await cluster.sleep(10);
  hear(deleted);
  await cluster.sleep(500);
  hear(Number.POSITIVE_INFINITY);
  const result = await cluster.pass(deleting);
  assert.ok(!result.ok);
  assert.equal(result.current?.revision, second);
});

test("a write that etcd does and refuses for want of room is told done, and the next one is not", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  cluster.etcd.store.room = "reached";
  const revision = revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
  await assert.rejects(cluster.pass(cluster.put(cache, revision, "2")), StorageFull);
  assert.equal((await cluster.present(cache))?.revision, revision);
  assert.ok((await cluster.pass(cache.remove(key, revision))).ok);
});

test("a write that was done is told so although nothing more is heard of changes", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const startMs = cluster.clock.now();
  // The watch stays with the member that is stopped until that is noticed, and the write goes to another one.
  cluster.etcd.members[1]!.stop();
  revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
  assert.ok(cluster.clock.now() - startMs < 5000);
});

test("history does not tell changes of versions that another server has compacted as creations", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const log = await cluster.openLog(2);
  const revisions: Revision[] = [0];
  for (const text of ["1", "2", "3"]) {
    revisions.push(revisionOf(await cluster.pass(cluster.put(cache, revisions.at(-1)!, text))));
  }
  const [, , second, third] = revisions;
  const read = () => cluster.pass(log.history("/registry/core/pods/", false, second!, third!));
  assert.equal((await read())?.events[0]?.previous?.revision, second);
  await cluster.pass(cache.compact(third!));
  assert.equal(await read(), undefined);
});

test("a server whose etcd went back, and then beyond what it was, takes no more writes and says why", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const first = revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
  const second = revisionOf(await cluster.pass(cluster.put(cache, first, "2")));
  cluster.cutOff("s1");
  await cluster.restore(second);
  for (const text of ["a", "b", "c"]) await cluster.change("/registry/core/pods/ns/b", text);
  cluster.etcd.heal();
  await cluster.sleep(15_000);
  const reason = new RegExp(`another history than before: /registry/pods/ns/a had another value at revision ${second}`);
  assert.match(cache.failure!.message, reason);
  await assert.rejects(cluster.pass(cluster.put(cache, second, "3")), StoreFailed);
  await assert.rejects(cluster.present(cache), reason);
});

test("a write that was told done is asked for when a member is connected, although its change was not heard of", async (t) => {
  const cluster = new Cluster();
  let known: () => KnownVersion | undefined = () => undefined;
  const log = await cluster.openLog(1, (client) => ({
    ...methodsOf(client),
    expect: (asked) => (known = asked),
    watch: () => ({ requestProgress: () => undefined, close: () => undefined }),
  }));
  const cache = await cluster.pass(LogWatchCache.open(log, { clock: cluster.clock }));
  t.after(() => cluster.pass(cache.close()));
  assert.equal(known(), undefined);
  const writing = cluster.put(cache, 0, "1").catch(() => undefined);
  await cluster.sleep(100);
  assert.deepEqual(
    { ...known(), value: known()?.value.toString() },
    { key: "/registry/pods/ns/a", revision: 2, value: '{"resourceVersion":"","text":"1"}' },
  );
  await cluster.pass(writing);
});

test("a server whose last change is compacted reads everything again: etcd may have gone back", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const last = revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
  cluster.cutOff("s1");
  await cluster.restore(last);
  for (const text of ["a", "b", "c"]) await cluster.change("/registry/core/pods/ns/b", text);
  const { etcd } = cluster;
  // The changes after the last one that the server has heard are still there.
  etcd.propose({ kind: "compact", revision: last + 1 }, etcd.leader!, () => undefined);
  await cluster.sleep(100);
  etcd.heal();
  await cluster.sleep(15_000);
  assert.equal(await cluster.present(cache), undefined);
  assert.equal(cache.failure, undefined);
});

test("a read of the present waits until everything is read again when etcd may have gone back, and on to the same revision", async (t) => {
  const cluster = new Cluster();
  const { etcd } = cluster;
  const other = "/registry/core/pods/ns/b";
  await cluster.change(other, "1");
  const log = await cluster.openLog(1, (client) => ({
    ...methodsOf(client),
    async range(request, options) {
      // Reading everything takes longer than asking for the revision.
      if (request.countOnly !== true) await new Promise<void>((resolve) => void cluster.clock.after(500, resolve));
      return client.range(request, options);
    },
  }));
  const cache = await cluster.pass(LogWatchCache.open(log, { clock: cluster.clock }));
  t.after(() => cluster.pass(cache.close()));
  const last = revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
  const removed = await cluster.pass(cache.remove(other, cache.get(other)!.revision));
  assert.equal(revisionOf(removed), last + 1);
  cluster.cutOff("s1");
  await cluster.restore(last);
  for (const text of ["2", "3"]) await cluster.change(other, text);
  etcd.propose({ kind: "compact", revision: last + 1 }, etcd.leader!, () => undefined);
  await cluster.sleep(100);
  etcd.heal();
  const reads: (Entry | undefined)[] = [];
  for (let ms = 0; ms < 5000; ms += 20) {
    void Promise.resolve(cache.getFresh(key)).then(
      (entry) => reads.push(entry),
      () => undefined,
    );
    await cluster.sleep(20);
  }
  assert.ok(reads.length > 0);
  assert.deepEqual(new Set(reads), new Set([undefined]));
  assert.match(cache.get(other)!.value.toString(), /"text":"3"/);
  assert.equal(cache.revision, last + 1, "the revision alone says nothing");
});

test("a write that was done before etcd went back, and whose answer is lost, is not told refused", async (t) => {
  const cluster = new Cluster();
  const [cache, other] = [await cluster.open(t, 1), await cluster.open(t, 2)];
  cluster.etcd.mishaps = { ...noMishaps, lostAnswer: 1 };
  const writing = cluster.put(cache, 0, "1");
  writing.catch(() => undefined);
  await cluster.sleep(100);
  const value = { ...toUnversioned("{}", "-"), decode: () => undefined };
  other.put("/registry/core/pods/ns/b", 0, value).catch(() => undefined);
  await cluster.sleep(100);
  assert.equal(cache.revision, 3);
  await cluster.restore(3);
  cluster.etcd.mishaps = noMishaps;
  await assert.rejects(cluster.pass(writing), OutcomeUnknown);
  assert.match(cache.failure!.message, /is at revision 2, but there was revision 3/);
});

test("a server goes on when etcd went back to before its fence moved, and on by its revision", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const { etcd } = cluster;
  const value = { ...toUnversioned("{}", "-"), decode: () => undefined };
  /** Creates an object at a member that does not answer, so that the fence moves. Returns the revision of that. */
  const create = async (name: string, member: number): Promise<Revision> => {
    etcd.members[member]!.stop();
    const revision = revisionOf(await cluster.pass(cache.put(`/registry/core/pods/ns/${name}`, 0, value)));
    etcd.members[member]!.start();
    await cluster.sleep(10_000);
    return revision - 1;
  };
  await create("b", 1);
  const moved = await create("c", 2);
  assert.deepEqual(
    etcd.store
      .page({ key: "/", end: "0" }, moved, { revision: moved, compacted: -1 })
      .steps.flat()
      .map(({ entry }) => entry.key.replace(/[^/]+$/, "")),
    ["/registry/binnacle/fences/"],
  );
  await cluster.restore(moved, 30_000);
  revisionOf(await cluster.pass(cluster.put(cache, 0, "1")));
});

test("no two versions of a fence or a turn are alike: servers tell by them whether etcd was put back", async (t) => {
  const cluster = new Cluster();
  const cache = await cluster.open(t, 1);
  const { etcd } = cluster;
  const value = { ...toUnversioned("{}", "-"), decode: () => undefined };
  for (const [name, member] of [
    ["b", 1],
    ["c", 2],
  ] as const) {
    etcd.members[member]!.stop();
    const turn = { name: "addresses", seen: cache.revision };
    revisionOf(await cluster.pass(cache.put(`/registry/core/pods/ns/${name}`, 0, value, { turn })));
    etcd.members[member]!.start();
    await cluster.sleep(10_000);
  }
  const changes = etcd.store.page({ key: "/", end: "0" }, 1, { revision: cache.revision, compacted: -1 }).steps.flat();
  for (const resource of ["fences", "turns"]) {
    const versions = changes.filter(({ entry }) => entry.key.startsWith(`/registry/binnacle/${resource}/`));
    assert.equal(versions.length, 2);
    assert.notDeepEqual(versions[0]!.entry.value, versions[1]!.entry.value);
  }
});
