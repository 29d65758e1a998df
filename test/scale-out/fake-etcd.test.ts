/**
 * The etcd in memory against a real one: the same calls must have the same answers, errors, and events of watches. So the
 * simulation, which runs on the one in memory, says something about the other. Needs Go. `FUZZ_SEED` sets the seed.
 */
import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import {
  type EtcdClient,
  EtcdError,
  type EtcdEvent,
  type EtcdOperation,
  type EtcdWatch,
  type KeyValue,
  type RangeAnswer,
  type RangeRequest,
  type Transaction,
  type WatchEnd,
  type WatchRequest,
} from "#storage/etcd/client.ts";
import { FakeEtcdClient } from "#storage/etcd/fake-etcd-client-for-tests.ts";
import { FakeEtcd } from "#storage/etcd/fake-etcd-for-tests.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { eventually } from "../harness.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";

const skip = missing() ?? false;
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const options = { timeoutMs: 10_000 };

/** One of the two that are compared. Revisions count from `base`, and leases have the order in which they were granted. */
class Side {
  readonly client: EtcdClient;
  readonly leases: string[] = [];
  readonly watches: SideWatch[] = [];
  base = 0;
  revision = 0;
  readonly #isReal: boolean;
  /** Lets a little time pass. */
  readonly #turn: () => Promise<void>;

  private constructor(client: EtcdClient, isReal: boolean, turn: () => Promise<void>) {
    this.client = client;
    this.#isReal = isReal;
    this.#turn = turn;
  }

  static real(cluster: EtcdCluster): Side {
    const { endpoints } = cluster;
    const client = openEtcd({ endpoints, tls: {}, server: "a", clock: systemClock, random: seededRandom(1) });
    return new Side(client, true, () => new Promise((resolve) => setTimeout(resolve, 5)));
  }

  static fake(): { readonly side: Side; readonly etcd: FakeEtcd } {
    const clock = new FakeClock();
    const etcd = new FakeEtcd({ clock, random: seededRandom(1), members: 1 });
    const turn = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advanceToNext();
    };
    return { side: new Side(new FakeEtcdClient(etcd, "a"), false, turn), etcd };
  }

  /** Resolves with a promise, while time passes. */
  async #passing<T>(work: Promise<T>): Promise<T> {
    let isSettled = this.#isReal;
    const settle = (): void => {
      isSettled = true;
    };
    work.then(settle, settle);
    while (!isSettled) await this.#turn();
    return work;
  }

  /** Makes a call. Returns what callers can tell of its answer. */
  async call(call: Call): Promise<unknown> {
    try {
      return await this.#passing(this.#call(call));
    } catch (error) {
      if (error instanceof EtcdError) return { error: error.kind };
      throw error;
    }
  }

  async #call(call: Call): Promise<unknown> {
    switch (call.kind) {
      case "range":
        return this.#range(await this.client.range(this.#toRange(call.request), options));
      case "transact": {
        const { header, succeeded, ranges } = await this.client.transact(
          this.#toTransaction(call.transaction),
          options,
        );
        this.revision = header.revision - this.base;
        return { revision: this.revision, succeeded, ranges: ranges.map((range) => this.#entries(range)) };
      }
      case "compact":
        await this.client.compact(call.revision + this.base, options);
        return "compacted";
      case "grant":
        this.leases.push(await this.client.grantLease(call.seconds, options));
        return "granted";
      case "renew":
        return this.client.renewLease(this.leases[call.lease] ?? "7fff", options);
      case "revoke":
        await this.client.revokeLease(this.leases[call.lease] ?? "7fff", options);
        return "revoked";
      case "status": {
        const { header, version, alarms, leader } = await this.client.status(options);
        return { revision: header.revision - this.base, version, alarms, isLeader: leader === header.member };
      }
      case "watch": {
        const watch = new SideWatch(this.client, { ...call.request, from: call.request.from + this.base });
        this.watches.push(watch);
        // It must not depend on time what is compacted when the watch comes there.
        await this.#catchUp(watch);
        return "opened";
      }
      case "watched":
        return this.#watched();
    }
  }

  /** Returns what all watches have been told up to now, and closes them. */
  async #watched(): Promise<unknown> {
    const told: unknown[] = [];
    for (const watch of this.watches) {
      await this.#catchUp(watch);
      const { events, ends } = watch;
      watch.watch.close();
      told.push({
        events: events.map(({ type, entry, previous }) => {
          return { type, entry: this.#entry(entry), previous: previous && this.#entry(previous) };
        }),
        ends: ends.map((end) => (end.kind === "compacted" ? end.compacted - this.base : end.kind)),
      });
    }
    this.watches.length = 0;
    return told;
  }

  /** Waits until a watch has been told everything, or has ended. */
  async #catchUp({ watch, reached, ends }: SideWatch): Promise<void> {
    const { revision } = (await this.client.range({ key: "/" }, options)).header;
    while (reached() < revision && ends.length === 0) {
      watch.requestProgress();
      await (this.#isReal ? this.#turn() : new Promise((resolve) => setImmediate(resolve)));
    }
  }

  #toRange(request: RangeRequest): RangeRequest {
    return request.revision === undefined ? request : { ...request, revision: request.revision + this.base };
  }

  #toTransaction({ compare, then, otherwise }: Transaction): Transaction {
    const map = (operation: EtcdOperation): EtcdOperation => {
      if (operation.kind === "range") return { kind: "range", range: this.#toRange(operation.range) };
      if (operation.kind === "delete" || operation.lease === undefined) return operation;
      return { ...operation, lease: this.leases[Number(operation.lease)] ?? "7fff" };
    };
    return {
      compare: compare.map((one) => (one.revision === 0 ? one : { ...one, revision: one.revision + this.base })),
      then: then.map(map),
      otherwise: otherwise.map(map),
    };
  }

  #range(answer: RangeAnswer): unknown {
    this.revision = answer.header.revision - this.base;
    return { revision: this.revision, ...(this.#entries(answer) as object) };
  }

  #entries({ entries, more, count }: RangeAnswer): unknown {
    return { entries: entries.map((entry) => this.#entry(entry)), more, count };
  }

  #entry({ key, value, revision, created, version, lease }: KeyValue): unknown {
    return {
      key,
      value: value.toString(),
      revision: revision - this.base,
      created: created === 0 ? 0 : created - this.base,
      version,
      lease: lease === undefined ? undefined : this.leases.indexOf(lease),
    };
  }
}

/** A watch that notes what it is told. */
class SideWatch {
  readonly watch: EtcdWatch;
  /** The number of events of each call. */
  readonly batches: number[] = [];
  readonly events: EtcdEvent[] = [];
  readonly ends: WatchEnd[] = [];
  #reached = 0;

  constructor(client: EtcdClient, request: WatchRequest) {
    const reach = (revision: number): void => {
      this.#reached = Math.max(this.#reached, revision);
    };
    this.watch = client.watch(request, {
      changed: (events, revision) => {
        this.batches.push(events.length);
        this.events.push(...events);
        reach(revision);
      },
      progressed: reach,
      ended: (end) => this.ends.push(end),
    });
  }

  /** Returns the revision up to which everything was told. */
  readonly reached = (): number => this.#reached;
}

/** A call. Revisions count from the first one, and leases have numbers. */
type Call =
  | { readonly kind: "range"; readonly request: RangeRequest }
  | { readonly kind: "transact"; readonly transaction: Transaction }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "grant"; readonly seconds: number }
  | { readonly kind: "renew" | "revoke"; readonly lease: number }
  | { readonly kind: "watch"; readonly request: WatchRequest }
  | { readonly kind: "status" | "watched" };

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
const pickKey = (random: Random): string => pick(random, ["/a", "/a/1", "/a/2", "/b", "/b/1", "/c/1", "/c/2", "/d"]);

/** Makes calls, most of which do something. */
class Calls {
  readonly #random: Random;
  /** The revisions of the keys as far as answers told. */
  readonly #known = new Map<string, number>();
  #leases = 0;
  #made = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the next call; `revision` is that of the last answer. */
  next(revision: number): Call {
    const random = this.#random;
    const dice = random.next();
    this.#made++;
    if (this.#made % 100 === 0) return { kind: "watched" };
    if (dice < 0.5) return { kind: "transact", transaction: this.#transaction(revision) };
    if (dice < 0.75) return { kind: "range", request: this.#range(revision) };
    if (dice < 0.8) return { kind: "watch", request: this.#watch(revision) };
    if (dice < 0.83) return { kind: "compact", revision: Math.floor(revision * (0.5 + random.next() * 0.55)) };
    if (dice < 0.87) {
      this.#leases++;
      return { kind: "grant", seconds: pick(random, [100_000, 200_000, 9_000_000_001]) };
    }
    if (dice < 0.96)
      return { kind: pick(random, ["renew", "revoke"]), lease: Math.floor(random.next() * 4 * this.#leases) };
    return { kind: "status" };
  }

  /** Notes what a transaction has done. */
  done({ then, otherwise }: Transaction, answer: unknown): void {
    if (typeof answer !== "object" || answer === null || !("succeeded" in answer) || !("revision" in answer)) return;
    for (const operation of answer.succeeded === true ? then : otherwise) {
      if (operation.kind !== "range")
        this.#known.set(operation.key, operation.kind === "put" ? Number(answer.revision) : 0);
    }
  }

  #transaction(revision: number): Transaction {
    const random = this.#random;
    if (random.next() < 0.01) {
      const many = Array.from({ length: 130 }, (): EtcdOperation => ({ kind: "range", range: { key: "/a" } }));
      return { compare: [], then: many, otherwise: [] };
    }
    const compare = Array.from({ length: Math.floor(random.next() * 3) }, () => {
      const key = pickKey(random);
      const known = this.#known.get(key) ?? 0;
      const isKnown = random.next() < 0.8;
      return {
        key,
        revision: isKnown ? known : Math.floor(random.next() * (revision + 2)),
        ...(random.next() < 0.3 && { orLess: true }),
      };
    });
    const operations = (): EtcdOperation[] =>
      Array.from({ length: Math.floor(random.next() ** 2 * 5) }, () => this.#operation(revision));
    return { compare, then: [this.#operation(revision), ...operations()], otherwise: operations() };
  }

  #operation(revision: number): EtcdOperation {
    const random = this.#random;
    const dice = random.next();
    const key = random.next() < 0.01 ? "" : pickKey(random);
    if (dice < 0.3) return { kind: "range", range: this.#range(revision) };
    if (dice < 0.5) return { kind: "delete", key };
    const length = random.next() < 0.01 ? 1_700_000 : 10;
    const value = Buffer.from(`${this.#made} `.padEnd(length, "x"));
    const lease = random.next() < 0.3 ? { lease: String(Math.floor(random.next() * 1.2 * this.#leases)) } : {};
    return { kind: "put", key, value, ...lease };
  }

  #range(revision: number): RangeRequest {
    const random = this.#random;
    const isOld = random.next() < 0.4;
    return {
      key: random.next() < 0.01 ? "" : pickKey(random),
      ...(random.next() < 0.6 && { end: pick(random, ["\0", "/b", "/b0", "/d", "/a"]) }),
      ...(random.next() < 0.4 && { limit: Math.floor(random.next() * 4) }),
      ...(isOld && { revision: Math.max(1, Math.floor(revision * (0.4 + random.next() * 0.63))) }),
      ...(random.next() < 0.2 && { isSerializable: true }),
      ...(random.next() < 0.2 && { keysOnly: true }),
      ...(random.next() < 0.2 && { countOnly: true }),
    };
  }

  #watch(revision: number): WatchRequest {
    const random = this.#random;
    const isFuture = random.next() < 0.2;
    const from = isFuture
      ? revision + Math.floor(random.next() * 5)
      : Math.floor(revision * (0.4 + random.next() * 0.6));
    const [key, end] = pick(random, [
      ["/", "0"],
      ["/a", "/b"],
      ["/b/1", "\0"],
      ["/c/1", "/c/1\0"],
    ] as const);
    return { key, end, from: Math.max(1, from), withPrevious: random.next() < 0.5 };
  }
}

/** Makes a call on both sides, and compares the answers. */
async function both(sides: readonly [Side, Side], call: Call, context: string): Promise<unknown> {
  const [real, fake] = [await sides[0].call(call), await sides[1].call(call)];
  assert.deepEqual(fake, real, `${context}: ${JSON.stringify(call).slice(0, 500)}`);
  return real;
}

describe("the etcd in memory and a real one", { skip }, () => {
  let cluster: EtcdCluster;
  let real: Side;
  before(async () => {
    cluster = await EtcdCluster.start();
    real = Side.real(cluster);
  });
  after(async () => {
    real?.client.close();
    await cluster?.stop();
  });

  test(`they answer 2,000 calls alike (FUZZ_SEED=${seed})`, async () => {
    const { side: fake } = Side.fake();
    const calls = new Calls(seededRandom(seed));
    for (let made = 0; made < 2000; made++) {
      const call = calls.next(real.revision);
      const answer = await both([real, fake], call, `FUZZ_SEED=${seed} call ${made}`);
      if (call.kind === "transact") calls.done(call.transaction, answer);
    }
    assert.ok(real.revision > 300, "the calls changed something");
  });
});

const put = (key: string, more: { readonly lease?: string } = {}): Call => ({
  kind: "transact",
  transaction: { compare: [], then: [{ kind: "put", key, value: Buffer.from("1"), ...more }], otherwise: [] },
});

async function openBoth(t: TestContext, flags: readonly string[] = []): Promise<readonly [Side, Side, FakeEtcd]> {
  const cluster = await EtcdCluster.start({ flags });
  t.after(() => cluster.stop());
  const real = Side.real(cluster);
  t.after(() => real.client.close());
  const { side, etcd } = Side.fake();
  return [real, side, etcd];
}

test("all keys of a lease that ends go in one revision", { skip }, async (t) => {
  const [real, fake] = await openBoth(t);
  for (const side of [real, fake]) {
    await side.call({ kind: "grant", seconds: 1 });
    assert.equal(await side.call({ kind: "renew", lease: 0 }), 2);
    await side.call({ kind: "watch", request: { key: "/", end: "0", from: 1, withPrevious: true } });
    for (const key of ["/c", "/a", "/b"]) await side.call(put(key, { lease: "0" }));
    await side.call(put("/b"));
    await eventually(async () => {
      assert.deepEqual(await side.call({ kind: "range", request: { key: "/", end: "0", countOnly: true } }), {
        revision: 6,
        entries: [],
        more: false,
        count: 1,
      });
    }, 10_000);
  }
  assert.equal(await both([real, fake], { kind: "renew", lease: 0 }, "ended"), 0);
  await both([real, fake], { kind: "watched" }, "events");
});

test("a watch of the past comes in pages of 1,000 revisions", { skip }, async (t) => {
  const [real, fake] = await openBoth(t);
  const sizes: number[][] = [];
  for (const side of [real, fake]) {
    for (let made = 0; made < 2100; made++) await side.call(put(`/${made % 2}`));
    await side.call({ kind: "watch", request: { key: "/0", end: "/1", from: 3, withPrevious: true } });
    const [watch] = side.watches;
    await side.call({ kind: "watched" });
    sizes.push(watch!.batches);
  }
  assert.deepEqual(sizes[0], [1000, 49]);
  assert.equal(
    sizes[1]!.reduce((sum, size) => sum + size),
    1049,
  );
});

test("an etcd without room refuses all writes but deletions", { skip }, async (t) => {
  const [real, fake, etcd] = await openBoth(t, [`--quota-backend-bytes=${2 ** 20}`]);
  const sides = [real, fake] as const;
  await both(sides, put("/a"), "before");
  await real.call({ kind: "grant", seconds: 1000 });
  await fake.call({ kind: "grant", seconds: 1000 });
  const large: Call = {
    kind: "transact",
    transaction: { compare: [], then: [{ kind: "put", key: "/large", value: Buffer.alloc(100_000) }], otherwise: [] },
  };
  // Etcd knows the size of its database a moment after the writes.
  while (!("error" in ((await real.call(large)) as object)));
  etcd.store.room = "alarm";
  // The alarm comes a moment after the first refusal.
  while (!JSON.stringify(await real.call({ kind: "status" })).includes("NOSPACE"));
  // The write that finds the quota used up is refused, and may be done all the same.
  for (const side of sides) await side.call({ kind: "range", request: { key: "/a" } });
  real.base = real.revision - fake.revision;
  for (const call of [
    put("/b"),
    {
      kind: "transact",
      transaction: { compare: [], then: [], otherwise: [{ kind: "put", key: "/b", value: Buffer.alloc(1) }] },
    },
    { kind: "grant", seconds: 1000 },
    { kind: "transact", transaction: { compare: [], then: [{ kind: "delete", key: "/a" }], otherwise: [] } },
    { kind: "renew", lease: 0 },
    { kind: "revoke", lease: 0 },
    { kind: "range", request: { key: "/a", end: "/b" } },
    { kind: "status" },
  ] satisfies readonly Call[])
    await both(sides, call, "full");
});
