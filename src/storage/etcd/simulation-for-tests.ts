/**
 * Servers on an etcd in memory under one seed: their writers, readers and watchers, and faults of all kinds. Each step of
 * the fake clock lets everything happen that can happen, so a run takes no real time, and a seed repeats it. What servers
 * say is compared with what happened in etcd (`truth-for-tests.ts`), by `simulation-checks-for-tests.ts`.
 */
import assert from "node:assert/strict";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import {
  type Compacted,
  isCompacted,
  type KeyCondition,
  type LogVersions,
  OutcomeUnknown,
  type Revision,
  StorageFailure,
  StorageRefusal,
  type Turn,
} from "../log-store.ts";
import { toUnversioned } from "../versioned-value.ts";
import type { Entry, Range, StoreEvent, Watch, WriteResult } from "../watch-cache.ts";
import { LogWatchCache } from "../watch-cache/log-watch-cache.ts";
import type { EtcdOperation } from "./client.ts";
import { FakeEtcdClient } from "./fake-etcd-client-for-tests.ts";
import { FakeEtcd, type Mishaps, noMishaps } from "./fake-etcd-for-tests.ts";
import type { Restoration } from "./fake-etcd-store-for-tests.ts";
import { EtcdKeys } from "./keys.ts";
import { EtcdLog } from "./log.ts";
import { type TrueChange, Truth, textOf } from "./truth-for-tests.ts";

/** The result of a write, as its caller was told. */
type WriteOutcome =
  | { readonly kind: "done"; readonly revision: Revision }
  | { readonly kind: "failed"; readonly current: Revision; readonly failed: "key" | "requires" | "turn" }
  /** An error that says that the write was not done. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unknown" };

export interface WriteRecord {
  /** The number of the value; deletions have one too. */
  readonly id: number;
  readonly server: string;
  readonly key: string;
  readonly isDeletion: boolean;
  readonly expected: Revision;
  readonly requires: readonly KeyCondition[];
  readonly turn: Turn | undefined;
  readonly ttlSeconds: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: WriteOutcome;
}

/** A read of the present: of one key, or of a prefix. */
export interface ReadRecord {
  readonly server: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly prefix: string;
  readonly isExact: boolean;
  /** The revision that the read shows. */
  readonly revision: Revision;
  readonly entries: readonly Entry[];
}

/** The events that a client was given by watches, each of which went on where the one before ended. */
export interface WatchRecord {
  readonly prefix: string;
  readonly isExact: boolean;
  readonly after: Revision;
  readonly events: StoreEvent[];
  /** The revision up to which everything was delivered, as a bookmark would say. */
  reached: Revision;
  /** Whether the server with which it began was started after an older state was restored. */
  readonly isAfterRestoration: boolean;
}

export interface History {
  readonly writes: WriteRecord[];
  readonly reads: ReadRecord[];
  readonly watches: WatchRecord[];
  /** The restoration of an older state, if there was one. */
  restored: Restored | undefined;
}

/** An etcd that was put back to an older state. */
export interface Restored {
  readonly atMs: number;
  /** The changes until then. Those after `revision` are lost. */
  readonly truth: Truth;
  readonly revision: Revision;
  readonly restoration: Restoration;
}

/** A server: its client of etcd, its log, and its cache. */
interface Server {
  readonly name: string;
  readonly client: FakeEtcdClient;
  readonly log: EtcdLog;
  readonly cache: LogWatchCache;
  /** Whether it was started after an older state was restored. */
  readonly isAfterRestoration: boolean;
  /** The numbers of the writes on their way. */
  readonly writing: Set<number>;
}

const resources = ["/registry/core/pods/", "/registry/apps/deployments/"];
const names = ["ns/a", "ns/b", "other/a"];
/** The keys with a meaning for conditions: writers hold a lease, and take turns. */
const leaseKey = "/registry/core/pods/ns/leader";
const turnName = "addresses";
const keys = new EtcdKeys(
  "registry",
  new Map([
    ["core/pods", "pods"],
    ["apps/deployments", "deployments"],
  ]),
);

/** The longest time of an operation. A write tries for 10 s, and then waits for changes. */
const operationMsMax = 25_000;
const stepsMax = 300_000;
const writersPerServer = 2;
const writesPerWriter = 6;

export class Simulation {
  readonly clock = new FakeClock(0);
  readonly etcd: FakeEtcd;
  /** The changes in etcd; once it was restored, those that it had then and has got since. */
  truth: Truth;
  readonly history: History = { writes: [], reads: [], watches: [], restored: undefined };
  readonly #random: Random;
  readonly #mishaps: Mishaps;
  readonly #servers: (Server | undefined)[] = [];
  readonly #compactionIntervalMs: number;
  #ids = 0;
  #starts = 0;
  /** The number of writers and readers that are at work. */
  #busy = 0;
  #isOver = false;

  readonly #isRestored: boolean;

  /** `isRestored` says whether etcd is put back to an older state once. */
  constructor(seed: number, isRestored = false) {
    this.#isRestored = isRestored;
    this.#random = seededRandom(seed);
    this.#mishaps = mishapsOf(this.#random);
    this.#compactionIntervalMs = this.#pick([0, 0, 6000]);
    this.etcd = new FakeEtcd({ clock: this.clock, random: this.#random });
    this.truth = new Truth(this.etcd, keys);
  }

  /** Runs everything. Rejects when something contradicts what happened, or does not end. */
  async run(): Promise<void> {
    const work = this.#work();
    let isDone = false;
    work.then(
      () => (isDone = true),
      () => (isDone = true),
    );
    for (let steps = 0; !isDone; steps++) {
      assert.ok(steps < stepsMax, `nothing ends, at ${this.clock.now()} ms`);
      await new Promise((resolve) => setImmediate(resolve));
      if (!isDone) this.clock.advanceToNext();
    }
    await work;
  }

  async #work(): Promise<void> {
    for (let at = 0; at < 3; at++) this.#servers[at] = await this.#start(at);
    this.etcd.mishaps = this.#mishaps;
    const tasks: Promise<void>[] = [];
    for (let at = 0; at < 3; at++) {
      for (let writer = 0; writer < writersPerServer; writer++) tasks.push(this.#busyWith(this.#write(at)));
      tasks.push(this.#busyWith(this.#read(at)), this.#watch(at), this.#watch(at));
    }
    tasks.push(this.#busyWith(this.#writeElsewhere()));
    if (this.#isRestored) tasks.push(this.#restore(), this.#supervise());
    for (let breakers = this.#pick([1, 1, 2]); breakers > 0; breakers--) tasks.push(this.#break());
    await Promise.all(tasks);
    await this.#settle();
  }

  async #busyWith(task: Promise<void>): Promise<void> {
    this.#busy++;
    await task;
    this.#busy--;
  }

  /** Checks that, without faults, all servers show the present soon. */
  async #settle(): Promise<void> {
    for (const [at, first] of this.#servers.entries()) {
      if (first === undefined) continue;
      await this.#within("a fresh read after all faults", () => this.#untilFresh(first));
      const server = first.log.failure === undefined ? first : (await this.#replace(at))!;
      if (server !== first) await this.#within("a fresh read of a new server", () => this.#untilFresh(server));
      checkCache(server.cache, this.truth);
      assert.equal(server.log.failure, undefined);
      await server.cache.close();
      server.client.close();
    }
    this.#isOver = true;
  }

  /** Resolves when a server shows the present, or says that its store was replaced. */
  async #untilFresh({ cache, log }: Server): Promise<void> {
    for (;;) {
      try {
        if (log.failure !== undefined) return;
        return await cache.fresh();
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error;
        await this.#sleep(100);
      }
    }
  }

  /**
   * Whether a version that a restoration took away was written again as it had been, at the same revision: a server whose
   * write had no answer repeats it. Then servers cannot know of the restoration.
   */
  get isUnnoticeable(): boolean {
    const { restored } = this.history;
    if (restored === undefined) return false;
    const isLost = ({ revision, id }: TrueChange): boolean => revision > restored.revision && id !== undefined;
    const nameOf = ({ revision, key, id }: TrueChange): string => `${revision} ${key} ${id}`;
    const lost = new Set(restored.truth.changes.filter(isLost).map(nameOf));
    return this.truth.changes.some((change) => lost.has(nameOf(change)));
  }

  /** Checks something by what has happened; for a server that has not noticed a restoration, by what had happened before. */
  #check(check: (truth: Truth) => void): void {
    try {
      check(this.truth);
    } catch (error) {
      const { restored } = this.history;
      if (restored === undefined || !(error instanceof assert.AssertionError)) throw error;
      try {
        check(restored.truth);
      } catch {
        throw error;
      }
    }
  }

  async #start(at: number): Promise<Server> {
    const name = `s${at}-${this.#starts++}`;
    for (;;) {
      const client = new FakeEtcdClient(this.etcd, name, at % this.etcd.members.length);
      const isAfterRestoration = this.history.restored !== undefined;
      try {
        const log = await EtcdLog.open({
          client,
          keys,
          clock: this.clock,
          random: this.#random,
          readForeign: (_key, bytes) => bytes,
          compactionIntervalMs: this.#compactionIntervalMs,
          leaseReuseSeconds: 60,
          missedMax: this.#pick([20_000, 20_000, 0, 5]),
        });
        const historyBytesMax = this.#pick([0, 1000, 1_000_000]);
        const cache = await LogWatchCache.open(log, { clock: this.clock, historyBytesMax });
        return { name, client, log, cache, isAfterRestoration, writing: new Set() };
      } catch (error) {
        // It is started again, as its supervisor would do.
        if (!(error instanceof StorageFailure)) throw error;
        client.close();
        await this.#sleep(1000);
      }
    }
  }

  /** Makes writes on a server, one after the other. */
  async #write(at: number): Promise<void> {
    for (let count = 0; count < writesPerWriter; count++) {
      await this.#sleep(this.#random.next() ** 3 * 6000);
      const server = this.#servers[at];
      if (server === undefined) continue;
      const key = this.#chance(0.15) ? leaseKey : this.#anyKey();
      const known = await this.#knownOf(server, key);
      const isDeletion = known !== undefined && this.#chance(0.35);
      const present = known?.revision ?? 0;
      const expected = this.#chance(0.9) ? present : this.#formerOf(key) || present;
      const lease = server.cache.get(leaseKey);
      const requires = key !== leaseKey && this.#chance(0.3) ? [{ key: leaseKey, revision: lease?.revision ?? 0 }] : [];
      const turn = this.#chance(0.3) ? { name: turnName, seen: server.cache.revision } : undefined;
      const ttlSeconds = !isDeletion && this.#chance(0.1) ? this.#pick([1, 3, 60]) : 0;
      await this.#record(server, { key, isDeletion, expected, requires, turn, ttlSeconds });
    }
  }

  /** Changes several objects in one revision now and again, as another program may do, and does not ask what became of it. */
  async #writeElsewhere(): Promise<void> {
    const server = "elsewhere";
    let client = new FakeEtcdClient(this.etcd, server);
    let { restored } = this.history;
    for (let count = 0; count < writesPerWriter; count++) {
      await this.#sleep(this.#random.next() * 5000);
      if (restored !== this.history.restored) {
        client.close();
        client = new FakeEtcdClient(this.etcd, server);
        restored = this.history.restored;
      }
      const startMs = this.clock.now();
      const present = [...this.truth.at(this.truth.revision).values()].filter(() => this.#chance(0.5));
      const records = present.map(({ key, revision }): Omit<WriteRecord, "endMs"> => {
        const conditions = { expected: revision, requires: [], turn: undefined, ttlSeconds: 0 };
        const isDeletion = this.#chance(0.3);
        return { id: ++this.#ids, server, key, isDeletion, ...conditions, startMs, outcome: { kind: "unknown" } };
      });
      const compare = records.map(({ key, expected }) => ({ key: keys.toEtcd(key), revision: expected }));
      const then = records.map(({ key: name, isDeletion, id }): EtcdOperation => {
        const key = keys.toEtcd(name);
        return isDeletion ? { kind: "delete", key } : { kind: "put", key, value: Buffer.from(textOf(id, "")) };
      });
      await client.transact({ compare, then, otherwise: [] }, { timeoutMs: 2000 }).catch(nothing);
      this.history.writes.push(...records.map((record) => ({ ...record, endMs: this.clock.now() })));
    }
    client.close();
  }

  /** Returns the revision of some change of a key; 0: there was none. */
  #formerOf(key: string): Revision {
    return this.#pick([
      0,
      ...this.truth.changes.filter((change) => change.key === key).map(({ revision }) => revision),
    ]);
  }

  /** Returns the version that a writer decides on, fresh or not. */
  async #knownOf({ cache }: Server, key: string): Promise<Entry | undefined> {
    try {
      if (this.#chance(0.5)) return await cache.getFresh(key);
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
    }
    return cache.get(key);
  }

  async #record(
    server: Server,
    wish: Omit<WriteRecord, "id" | "server" | "startMs" | "endMs" | "outcome">,
  ): Promise<void> {
    const id = ++this.#ids;
    const startMs = this.clock.now();
    const outcome = await this.#within(`write ${id}`, async (): Promise<WriteOutcome> => {
      const { key, isDeletion, expected, ...options } = wish;
      const { cache, writing } = server;
      writing.add(id);
      const encoded = { ...toUnversioned(textOf(id, ""), '"resourceVersion":"'), decode: () => id };
      try {
        const result = isDeletion
          ? await cache.remove(key, expected, conditionsOf(options))
          : await cache.put(key, expected, encoded, { ...conditionsOf(options), ttlSeconds: options.ttlSeconds });
        return this.#outcomeOf(result, wish.isDeletion ? undefined : id);
      } catch (error) {
        if (error instanceof OutcomeUnknown) return { kind: "unknown" };
        if (!(error instanceof StorageFailure)) throw error;
        // A server that is closed meanwhile promises nothing.
        if (!(error instanceof StorageRefusal)) return { kind: "unknown" };
        return { kind: "refused", reason: error.message };
      } finally {
        writing.delete(id);
      }
    });
    this.history.writes.push({ ...wish, id, server: server.name, startMs, endMs: this.clock.now(), outcome });
  }

  #outcomeOf(result: WriteResult, id: number | undefined): WriteOutcome {
    if (!result.ok) return { kind: "failed", current: result.current?.revision ?? 0, failed: result.failed };
    const { revision, value, decoded } = result.entry;
    if (id !== undefined) {
      assert.equal(value.toString(), textOf(id, revision), "the entry of a write is what was written");
      assert.ok(decoded === undefined || decoded === id);
    }
    return { kind: "done", revision };
  }

  /** Reads on a server until the writers are done. */
  async #read(at: number): Promise<void> {
    for (let count = 0; count < writesPerWriter; count++) {
      await this.#sleep(this.#random.next() ** 2 * 5000);
      const server = this.#servers[at];
      if (server === undefined) continue;
      this.#check((truth) => checkCache(server.cache, truth));
      // Reads of the present share what they ask of etcd.
      await Promise.all([
        this.#readFresh(server),
        this.#readFresh(server),
        this.#readPast(server),
        this.#readVersions(server),
      ]);
    }
  }

  async #readFresh({ name: server, cache }: Server): Promise<void> {
    await this.#sleep(this.#random.next() * 5);
    const startMs = this.clock.now();
    try {
      await this.#within("a fresh read", async () => cache.fresh());
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      return;
    }
    const isExact = this.#chance(0.6);
    const prefix = isExact ? this.#anyKey() : this.#pick(resources);
    const entry = isExact ? cache.get(prefix) : undefined;
    const entries = isExact ? (entry === undefined ? [] : [entry]) : cache.range(prefix).entries;
    const { revision } = cache;
    this.history.reads.push({ server, startMs, endMs: this.clock.now(), prefix, isExact, revision, entries });
  }

  /** Reads a range as it was, which must be as it was. */
  async #readPast({ cache }: Server): Promise<void> {
    const at = Math.ceil(this.#random.next() * cache.revision);
    const prefix = this.#pick(resources);
    const limit = this.#pick([1, 2, 1000]);
    let range: Range | Compacted;
    try {
      range = await this.#within("a read of the past", () => cache.rangeAt(prefix, { at, limit }));
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      return;
    }
    if (isCompacted(range)) return;
    const { entries, remaining } = range;
    this.#check((truth) => {
      const all = truth.range(prefix, at);
      assert.deepEqual(
        { entries: entries.map(({ key, value }) => [key, value.toString()]), remaining },
        {
          entries: all.slice(0, limit).map(({ key, id, revision }) => [key, textOf(id!, revision)]),
          remaining: Math.max(0, all.length - limit),
        },
        `the range of ${prefix} at ${at}`,
      );
    });
  }

  /** Reads versions of a key, which must be those that it had since it was last created. */
  async #readVersions({ log }: Server): Promise<void> {
    const key = this.#anyKey();
    const before = Math.ceil(this.#random.next() * log.revision) + 1;
    const limit = this.#pick([1, 2, 1000]);
    const wasRestored = this.history.restored;
    let read: LogVersions;
    try {
      read = await this.#within("a read of versions", () => log.versions(key, before, limit));
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      return;
    }
    // They may be read by several calls.
    if (wasRestored !== this.history.restored) return;
    this.#check((truth) => checkVersions(key, before, read, truth));
  }

  /** Watches as a client does: it goes on elsewhere after a while, and begins again when it must. */
  async #watch(home: number): Promise<void> {
    const isExact = this.#chance(0.2);
    const prefix = isExact ? this.#anyKey() : this.#pick([...resources, "/registry/core/pods/ns/"]);
    let record: WatchRecord | undefined;
    for (let at = home; this.#busy > 0; at = this.#chance(0.5) ? home : Math.floor(this.#random.next() * 3)) {
      const server = this.#servers[at];
      if (server === undefined) {
        await this.#sleep(500);
        continue;
      }
      if (record === undefined) {
        const { revision } = server.cache;
        const { isAfterRestoration } = server;
        record = { prefix, isExact, after: revision, events: [], reached: revision, isAfterRestoration };
        this.history.watches.push(record);
      }
      const isLost = await this.#watchOnce(server.cache, record);
      if (!isLost && !this.#isMisled) continue;
      // A client that has to list again pauses before: the server may not have heard of what is compacted.
      record = undefined;
      await this.#sleep(200);
    }
  }

  /** Whether versions are given out twice, so that a client begins anew with every server. */
  get #isMisled(): boolean {
    return this.history.restored?.restoration.bump === 0;
  }

  /** Watches for a while. Resolves with whether the client must list again. */
  async #watchOnce(cache: LogWatchCache, record: WatchRecord): Promise<boolean> {
    let watch: Watch | undefined;
    let ended: string | undefined;
    const { restored } = this.history;
    if (!(await cache.waitFor(record.reached, 3000)) || restored !== this.history.restored) return false;
    try {
      const opened = await this.#within("the begin of a watch", () =>
        cache.watch({
          prefix: record.prefix,
          exact: record.isExact,
          after: record.reached,
          deliver: (events) => {
            record.events.push(...events);
            record.reached = events.at(-1)!.revision;
            return true;
          },
          ended: (reason) => {
            ended = reason;
          },
        }),
      );
      if (isCompacted(opened)) return true;
      watch = opened;
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      return false;
    }
    const endMs = this.clock.now() + this.#random.next() * 8000;
    while (ended === undefined && this.clock.now() < endMs && this.#busy > 0) {
      await this.#sleep(100 + this.#random.next() * 1500);
      if (ended === undefined) record.reached = this.#bookmark(watch, record);
    }
    watch.close();
    return ended === "compacted";
  }

  #bookmark(watch: Watch, record: WatchRecord): Revision {
    const { position } = watch;
    assert.ok(position >= record.reached, `a bookmark goes back from ${record.reached} to ${position}`);
    this.#check((truth) => assert.ok(position <= truth.revision, "a bookmark is in the future"));
    return position;
  }

  /** Breaks things until the writers and readers are done, and mends everything at the end. */
  async #break(): Promise<void> {
    const calmMs = this.#pick([500, 3000, 10_000]);
    while (this.#busy > 0) {
      await this.#sleep(this.#random.next() * calmMs);
      const mend = this.#fault();
      await this.#sleep(this.#random.next() ** 2 * 12_000);
      mend();
    }
    this.etcd.mishaps = noMishaps;
    this.etcd.heal();
    this.etcd.store.room = "free";
    for (const member of this.etcd.members) if (member.state !== "running") member.start();
  }

  /** Does something bad. Returns what ends it. */
  #fault(): () => void {
    const { etcd } = this;
    const member = this.#pick(etcd.members);
    const server = this.#pick(this.#servers);
    const heal = (): void => etcd.heal();
    const start = (): void => member.start();
    const faults: (() => () => void)[] = [
      () => (member.stop(), start),
      () => (member.kill(), start),
      () => (etcd.cut(member.name, this.#pick(etcd.members).name), heal),
      () => (
        etcd.members.forEach((other) => (etcd.cut(member.name, other.name), etcd.cut(other.name, member.name))), heal
      ),
      () => (etcd.cut(server?.name ?? "", member.name), heal),
      () => (etcd.cut(member.name, server?.name ?? ""), heal),
      () => this.#cutOff(server),
      () => (server?.client.breakConnection(), nothing),
      () => (etcd.elect(), nothing),
      () => (void this.#compact(server), nothing),
      () => ((etcd.store.room = "reached"), () => (etcd.store.room = "free")),
      () => (void this.#restart(), nothing),
    ];
    return this.#pick(faults)();
  }

  /** Cuts a server off, and compacts what it misses, in half of the cases. */
  #cutOff(server: Server | undefined): () => void {
    const { etcd, truth } = this;
    for (const { name } of etcd.members) {
      etcd.cut(name, server?.name ?? "");
      etcd.cut(server?.name ?? "", name);
    }
    return () => {
      const { leader } = etcd;
      const command = { kind: "compact", revision: truth.revision } as const;
      if (leader !== undefined && this.#chance(0.7)) etcd.propose(command, leader, nothing);
      if (this.#chance(0.7)) server?.client.breakConnection();
      this.clock.after(100, () => etcd.heal());
    };
  }

  async #compact(server: Server | undefined): Promise<void> {
    const lag = Math.floor(this.#random.next() ** 2 * 30);
    const revision = this.truth.revision - lag;
    if (server === undefined || revision < 2) return;
    try {
      await this.#within("a compaction", () => server.cache.compact(revision));
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
    }
  }

  /** Puts etcd back to a state of a short time ago, once. What is lost began with a new value. */
  async #restore(): Promise<void> {
    await this.#sleep(2000 + this.#random.next() * 12_000);
    const { etcd, truth } = this;
    const restoration = this.#pick([
      { bump: 0, isCompacted: false },
      { bump: 30_000, isCompacted: true },
      { bump: 30_000, isCompacted: false },
    ]);
    const lost = await this.#nextLost();
    if (lost === undefined) return;
    // It gets no more changes, so all are read now.
    truth.at(truth.revision);
    const index = etcd.store.indexBefore(lost);
    this.history.restored = { atMs: this.clock.now(), truth, revision: etcd.store.at(index).revision, restoration };
    etcd.restore(index, restoration);
    this.truth = new Truth(etcd, keys);
    for (const member of etcd.members) {
      this.clock.after(this.#random.next() * 3000, () => {
        if (member.state === "dead") member.start();
      });
    }
  }

  /**
   * Resolves with a revision of a short time ago that had a new value, and which each server has heard of together with a
   * value, or has not heard of: a server cannot know that only deletions are lost.
   */
  async #nextLost(): Promise<Revision | undefined> {
    while (this.#busy > 0) {
      const { revision } = this.truth;
      const lost = revision - Math.floor(this.#random.next() ** 2 * 12);
      const isKnown = (server: Server | undefined): boolean =>
        server !== undefined && (server.log.revision < lost || (server.client.expected?.revision ?? 0) >= lost);
      if (lost > 2 && this.etcd.store.hasValue(lost, keys.prefix) && this.#servers.every(isKnown)) return lost;
      await this.#sleep(50);
    }
    return undefined;
  }

  /** Starts servers again that say that their store was replaced. */
  async #supervise(): Promise<void> {
    while (this.#busy > 0) {
      await this.#sleep(1000);
      for (const [at, server] of this.#servers.entries()) {
        if (server?.log.failure !== undefined && this.#chance(0.5)) await this.#replace(at);
      }
    }
  }

  /** Ends a server, and starts it again with nothing. */
  async #restart(): Promise<void> {
    await this.#replace(Math.floor(this.#random.next() * 3));
  }

  /** Ends a server, and starts it again in its place. */
  async #replace(at: number): Promise<Server | undefined> {
    const server = this.#servers[at];
    if (server === undefined || this.#isOver) return undefined;
    const { failure } = server.log;
    if (failure !== undefined) {
      assert.ok(this.history.restored !== undefined, failure.message);
      assert.match(failure.message, /etcd at \S+ (?:is at revision \d+, but there was|.*another history)/);
    }
    this.#servers[at] = undefined;
    this.#busy++;
    await this.#within("the end of a server", () => server.cache.close());
    // The callers that wait for the writes have a turn.
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([...server.writing], [], "writes are on their way after the end of their server");
    server.client.close();
    const started = await this.#start(at);
    this.#servers[at] = started;
    this.#busy--;
    return started;
  }

  async #within<T>(name: string, task: () => T | Promise<T>): Promise<T> {
    const startMs = this.clock.now();
    const cancel = this.clock.after(operationMsMax, () => {
      throw new Error(`${name} takes longer than ${operationMsMax / 1000} s`);
    });
    try {
      return await task();
    } finally {
      cancel();
      assert.ok(this.clock.now() - startMs <= operationMsMax);
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(ms, resolve);
    });
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)]!;
  }

  #chance(of: number): boolean {
    return this.#random.next() < of;
  }

  #anyKey(): string {
    return this.#pick(resources) + this.#pick(names);
  }
}

const nothing = (): void => {};

/** Compares what a cache shows with the truth at its revision. */
function checkCache(cache: LogWatchCache, truth: Truth): void {
  const { revision, keys: count, sum } = cache.digest;
  assert.ok(revision <= truth.revision, "a cache shows the future");
  const state = [...truth.at(revision).values()];
  const trueSum = state.reduce((total, entry) => total + entry.revision, 0);
  assert.deepEqual({ count, sum }, { count: state.length, sum: trueSum }, `a cache differs at ${revision}`);
  for (const { key, id, revision: at } of state) assert.equal(cache.get(key)?.value.toString(), textOf(id!, at), key);
}

/** Checks versions of a key before a revision. */
function checkVersions(key: string, before: Revision, { versions, next, since }: LogVersions, truth: Truth): void {
  let change = truth.at(before - 1).get(key);
  for (const { value, revision, replaces } of versions) {
    const text = `the versions of ${key} before ${before}`;
    assert.deepEqual([revision, value?.bytes.toString()], [change?.revision, change && textOf(change.id!, "")], text);
    const previous = change!.previous?.revision ?? 0;
    assert.ok(replaces === previous || (replaces > previous && previous <= since), `${text}: ${replaces}, ${previous}`);
    change = change!.previous;
  }
  if (change !== undefined && change.revision > since && next === 0)
    assert.fail(`the version ${change.revision} of ${key} is missing`);
  if (next > 0) assert.equal(next, versions.at(-1)?.revision);
}

const conditionsOf = ({ requires, turn }: Pick<WriteRecord, "requires" | "turn">) => ({
  requires,
  ...(turn === undefined ? {} : { turn }),
});

/** Chooses how much goes wrong with single messages; in some runs nothing does. */
function mishapsOf(random: Random): Mishaps {
  const chance = (max: number): number => (random.next() < 0.5 ? 0 : random.next() * max);
  return {
    lostAnswer: chance(0.1),
    brokenConnection: chance(0.05),
    refusal: chance(0.1),
    slowMessage: chance(0.05),
    lag: chance(0.5),
    lateCall: chance(1),
  };
}
