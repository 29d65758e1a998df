/** The log on a real etcd: its contract, several servers on one cluster, members that are lost. Needs Go. */
import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";
import { StorageFull, Unavailable } from "#storage/log-store.ts";
import {
  type EtcdClient,
  EtcdError,
  type EtcdWatch,
  type WatchFollower,
  type WatchRequest,
} from "#storage/etcd/client.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { EtcdKeys, type ResourcePaths } from "#storage/etcd/keys.ts";
import { EtcdLog } from "#storage/etcd/log.ts";
import { logContract } from "#storage/log.contract.ts";
import { LogWatchCache } from "#storage/watch-cache/log-watch-cache.ts";
import { putText, Recorder, settle, storeContract, textOf, waitUntil } from "#storage/store.contract.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";

const reason = missing();
const paths = new Map([
  ["core/pods", "pods"],
  ["core/nodes", "minions"],
]);
/** The resources of the contract of caches, which are of no group. */
const contractPaths = new Map(
  ["nodes", "pod", "pods", "podsother", "podtemplates"].map((resource) => [`/${resource}`, resource]),
);

function openLog(client: EtcdClient, prefix: string, shown: ResourcePaths = paths): Promise<EtcdLog> {
  return EtcdLog.open({
    clock: systemClock,
    random: seededRandom(1),
    client,
    keys: new EtcdKeys(prefix, shown),
    readForeign: () => {
      throw new Error("nothing is foreign");
    },
    compactionIntervalMs: 0,
    leaseReuseSeconds: 60,
  });
}

const openClient = (endpoints: readonly string[], server: string): EtcdClient =>
  openEtcd({ endpoints, tls: {}, server, clock: systemClock, random: seededRandom(1) });

/** A client whose watches can be cut, and which finds no member until it is joined again. */
class CuttableClient implements EtcdClient {
  readonly #inner: EtcdClient;
  readonly #open = new Set<() => void>();
  #isCut = false;

  constructor(inner: EtcdClient) {
    this.#inner = inner;
  }

  get endpoint(): string {
    return this.#inner.endpoint;
  }

  cut(): void {
    this.#isCut = true;
    for (const end of this.#open) end();
  }

  join(): void {
    this.#isCut = false;
  }

  range: EtcdClient["range"] = (...of) => this.#call(() => this.#inner.range(...of));
  transact: EtcdClient["transact"] = (...of) => this.#call(() => this.#inner.transact(...of));
  compact: EtcdClient["compact"] = (...of) => this.#call(() => this.#inner.compact(...of));
  grantLease: EtcdClient["grantLease"] = (...of) => this.#call(() => this.#inner.grantLease(...of));
  renewLease: EtcdClient["renewLease"] = (...of) => this.#call(() => this.#inner.renewLease(...of));
  leaseSeconds: EtcdClient["leaseSeconds"] = (...of) => this.#call(() => this.#inner.leaseSeconds(...of));
  revokeLease: EtcdClient["revokeLease"] = (...of) => this.#call(() => this.#inner.revokeLease(...of));
  status: EtcdClient["status"] = (...of) => this.#call(() => this.#inner.status(...of));
  expect: EtcdClient["expect"] = (...of) => this.#inner.expect(...of);

  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch {
    const watch = this.#inner.watch(request, follower);
    const cut = (): void => {
      this.#open.delete(cut);
      watch.close();
      follower.ended({ kind: "lost", error: new EtcdError("unsent", "the connection was cut") });
    };
    this.#open.add(cut);
    return watch;
  }

  close(): void {
    this.#inner.close();
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isCut) throw new EtcdError("unsent", "the connection is cut");
    return call();
  }
}

describe("the log on etcd", { skip: reason ?? false }, () => {
  let cluster: EtcdCluster;
  let prefixes = 0;
  before(async () => {
    // The contract has a value of 3 MiB.
    cluster = await EtcdCluster.start({ flags: ["--max-request-bytes=8388608"] });
  });
  const clients: EtcdClient[] = [];
  after(async () => {
    for (const client of clients) client.close();
    await cluster.stop();
  });
  const nextPrefix = (): string => `/test-${prefixes++}`;

  logContract({
    name: "etcd",
    async open(follower) {
      const client = openClient(cluster.endpoints, "a");
      clients.push(client);
      const log = await openLog(client, nextPrefix());
      await log.follow(follower);
      return log;
    },
  });

  storeContract({
    name: "etcd",
    async open(options) {
      const client = openClient(cluster.endpoints, "a");
      clients.push(client);
      return LogWatchCache.open(await openLog(client, nextPrefix(), contractPaths), options);
    },
    hasLog: true,
    keepsTime: false,
    keepsNotes: false,
  });

  const openCache = async (t: TestContext, prefix: string, server: string, endpoints = cluster.endpoints) => {
    const client = new CuttableClient(openClient(endpoints, server));
    const log = await openLog(client, prefix);
    const cache = await LogWatchCache.open(log, { clock: systemClock });
    t.after(async () => {
      await cache.close();
      client.close();
    });
    return { client, log, cache };
  };
  const podOf = (name: string): string => `/registry/core/pods/shop/${name}`;

  test("reads of one server see every write that another has acknowledged", async (t) => {
    const prefix = nextPrefix();
    const [a, b] = [await openCache(t, prefix, "a"), await openCache(t, prefix, "b")];
    assert.equal(b.cache.isShared, true);
    for (let round = 0; round < 50; round++) {
      const { revision } = await putText(a.cache, podOf(`p${round}`), 0, "x");
      const seen = await b.cache.getFresh(podOf(`p${round}`));
      assert.equal(seen?.revision, revision);
    }
    assert.deepEqual(b.cache.digest.keys, 50);
  });

  test("servers that decide on the same state do not take the same turn", async (t) => {
    const prefix = nextPrefix();
    const servers = [await openCache(t, prefix, "a"), await openCache(t, prefix, "b"), await openCache(t, prefix, "c")];
    const given = new Map<number, string>();
    let lost = 0;
    const allocate = async ({ cache }: (typeof servers)[0], name: string): Promise<void> => {
      for (;;) {
        await cache.fresh();
        const seen = cache.revision;
        const numbers = cache
          .range("/registry/core/pods/")
          .entries.map((entry) => Number(entry.decoded ?? numberOf(entry)));
        const taken = new Set(numbers);
        let number = 0;
        while (taken.has(number)) number++;
        const value = { ...textOf(String(number)), decode: () => number };
        const result = await cache.put(podOf(name), 0, value, { turn: { name: "numbers", seen } });
        if (!result.ok) {
          assert.equal(result.failed, "turn");
          lost++;
          continue;
        }
        assert.equal(given.get(number), undefined, `${number} is given once`);
        given.set(number, name);
        return;
      }
    };
    await Promise.all(
      servers.map(async (server, at) => {
        for (let round = 0; round < 20; round++) await allocate(server, `${at}-${round}`);
      }),
    );
    assert.equal(given.size, 60);
    t.diagnostic(`${lost} turns were lost`);
  });

  test("a write waits for an earlier one of a key that it requires, however late that is sent", async (t) => {
    const { cache, client } = await openCache(t, nextPrefix(), "a");
    const lease = await putText(cache, podOf("lease"), 0, "a");
    const { transact } = client;
    let isFirst = true;
    client.transact = async (...of) => {
      const waits = isFirst;
      isFirst = false;
      if (waits) await settle();
      return transact(...of);
    };
    const taking = putText(cache, podOf("lease"), lease.revision, "b");
    const requires = [{ key: podOf("lease"), revision: lease.revision }];
    const late = await cache.put(podOf("x"), 0, textOf("x"), { requires });
    assert.deepEqual([late.ok, late.ok || late.failed], [false, "requires"]);
    await taking;
  });

  test("a write whose Lease was taken by another server is refused in its transaction", async (t) => {
    const prefix = nextPrefix();
    const [a, b] = [await openCache(t, prefix, "a"), await openCache(t, prefix, "b")];
    const lease = await putText(a.cache, podOf("lease"), 0, "a");
    const requires = [{ key: podOf("lease"), revision: lease.revision }];
    assert.ok((await a.cache.put(podOf("x"), 0, textOf("x"), { requires })).ok);
    await b.cache.fresh();
    await putText(b.cache, podOf("lease"), lease.revision, "b");
    const late = await a.cache.put(podOf("y"), 0, textOf("y"), { requires });
    assert.deepEqual([late.ok, late.ok || late.failed], [false, "requires"]);
  });

  test("the member in use is killed while servers write: no write is lost, doubled or unknown", async (t) => {
    const three = await EtcdCluster.start({ members: 3 });
    t.after(() => three.stop());
    const { cache, client } = await openCache(t, "/registry", "a", three.endpoints);
    const done = new Map<string, number>();
    let isOver = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let serial = 0; !isOver; serial++) {
        const name = `w${writer}-${serial}`;
        const { revision } = await putText(cache, podOf(name), 0, "x");
        done.set(name, revision);
      }
    });
    await waitUntil(() => done.size > 200);
    const used = three.members.find(({ endpoint }) => endpoint === client.endpoint)!;
    await used.signal("SIGKILL");
    const before = done.size;
    await waitUntil(() => done.size > before + 200);
    isOver = true;
    await Promise.all(writers);
    await cache.fresh();
    assert.equal(cache.digest.keys, done.size);
    for (const [name, revision] of done) assert.equal(cache.get(podOf(name))?.revision, revision);
  });

  test("a server that missed changes which are compacted reads the state anew, and its watches end", async (t) => {
    const prefix = nextPrefix();
    const [a, b] = [await openCache(t, prefix, "a"), await openCache(t, prefix, "b")];
    const first = await putText(a.cache, podOf("first"), 0, "x");
    await b.cache.fresh();
    const entry = b.cache.get(podOf("first"));
    const watch = await Recorder.open(b.cache, { prefix: "/registry/core/pods/", after: b.cache.revision });
    b.client.cut();
    for (let at = 0; at < 20; at++) await putText(a.cache, podOf(`p${at}`), 0, "x");
    assert.ok((await a.cache.remove(podOf("p0"), a.cache.get(podOf("p0"))!.revision)).ok);
    await a.log.compact(a.cache.revision);
    await assert.rejects(async () => b.cache.fresh(), Unavailable);
    await assert.rejects(putText(b.cache, podOf("late"), 0, "x"), Unavailable);
    assert.equal(b.cache.get(podOf("first")), entry);
    b.client.join();
    await waitUntil(() => watch.ended !== undefined);
    assert.equal(watch.ended, "compacted");
    await b.cache.fresh();
    assert.equal(b.cache.get(podOf("first")), entry);
    assert.equal(entry?.revision, first.revision);
    assert.deepEqual([b.cache.digest.keys, b.cache.digest.sum], [a.cache.digest.keys, a.cache.digest.sum]);
    const { revision } = await putText(b.cache, podOf("late"), 0, "x");
    assert.equal((await a.cache.getFresh(podOf("late")))?.revision, revision);
  });

  test("a watch that is lost for a moment misses nothing", async (t) => {
    const prefix = nextPrefix();
    const [a, b] = [await openCache(t, prefix, "a"), await openCache(t, prefix, "b")];
    const watch = await Recorder.open(b.cache, { prefix: "/registry/core/pods/", after: b.cache.revision });
    for (let at = 0; at < 40; at++) {
      if (at % 10 === 5) {
        b.client.cut();
        b.client.join();
      }
      await putText(a.cache, podOf(`p${at}`), 0, "x");
    }
    await watch.until(40);
    assert.equal(watch.ended, undefined);
  });
});

/** Returns the number that a value says. */
const numberOf = ({ value }: { readonly value: Buffer }): number => Number(value.toString().split("@")[0]);

test("writes that etcd does and refuses, since it finds no room, are told done", {
  skip: reason ?? false,
}, async (t) => {
  const cluster = await EtcdCluster.start({ flags: [`--quota-backend-bytes=${2 ** 20}`] });
  t.after(() => cluster.stop());
  const client = openClient(cluster.endpoints, "a");
  t.after(() => client.close());
  const cache = await LogWatchCache.open(await openLog(client, "/full"), { clock: systemClock });
  t.after(() => cache.close());
  const filler = "x".repeat(10_000);
  const keyOf = (at: number): string => `/registry/core/pods/shop/p${at}`;
  const write = async (at: number): Promise<boolean> => {
    try {
      return (await cache.put(keyOf(at), 0, textOf(filler))).ok;
    } catch (error) {
      assert.ok(error instanceof StorageFull, String(error));
      return false;
    }
  };
  const told: boolean[] = [];
  // etcd finds out some time after the write that takes the last room.
  for (let round = 0; round < 50 && !told.includes(false); round++) {
    const wishes = Array.from({ length: 100 }, (_, at) => write(100 * round + at));
    told.push(...(await Promise.all(wishes)));
  }
  await cache.fresh();
  assert.deepEqual(
    told,
    told.map((_, at) => cache.get(keyOf(at)) !== undefined),
  );
  assert.ok(told.includes(false), "etcd is full");
});
