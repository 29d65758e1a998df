/** Copies between a folder and an etcd in memory whose answers are lost; `test/scale-out/copy.test.ts` has a real one. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { type CopyCipher, copyToEtcd, copyToFolder, EtcdKeyspace, verificationOf, writeBackup } from "./copy.ts";
import type { EtcdClient } from "./etcd/client.ts";
import { FakeEtcdClient, methodsOf } from "./etcd/fake-etcd-client-for-tests.ts";
import { FakeEtcd, noMishaps } from "./etcd/fake-etcd-for-tests.ts";
import { StorageFailure } from "./log-store.ts";
import { openSqliteStore } from "./sqlite.ts";
import { openVerification, type Verification } from "./verify.ts";
import { toUnversioned, withoutRevision } from "./versioned-value.ts";

const record = { key: "/registry/binnacle/settings/api-domain", value: withoutRevision(Buffer.from("k8s.io")) };
const plain: CopyCipher = { open: (_form, { value }) => ({ value }), seal: (_form, _key, value) => value };
const nothing = (): undefined => undefined;

interface ToEtcdOptions {
  readonly client?: EtcdClient;
  readonly progress?: () => void;
  readonly burns?: boolean;
}

/** A folder for stores, and an etcd in memory. */
class World {
  readonly clock = new FakeClock(1_000_000);
  readonly etcd = new FakeEtcd({ clock: this.clock, random: seededRandom(3) });
  readonly folder: string;
  readonly #open: Verification[] = [];

  constructor(t: TestContext) {
    this.folder = mkdtempSync(join(tmpdir(), "binnacle-copy-"));
    t.after(() => {
      for (const store of this.#open) store.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Makes a folder with so many objects, of which some were written twice, and one expires. */
  async fill(name: string, count: number): Promise<string> {
    const dataDir = join(this.folder, name);
    const { cache } = await openSqliteStore({ dataDir, clock: this.clock, compactionIntervalMs: 0 });
    await cache.put(record.key, 0, { ...record.value, decode: nothing });
    const put = async (at: number, expected: number, ttlSeconds = 0): Promise<number> => {
      const value = toUnversioned(`{"metadata":{"name":"p${at}","resourceVersion":""},"of":"${name}"}`, 'Version":"');
      const key = `/registry/core/pods/ns/p${at}`;
      const written = await cache.put(key, expected, { ...value, decode: nothing }, { ttlSeconds });
      assert.ok(written.ok);
      return written.entry.revision;
    };
    for (let at = 0; at < count; at++) {
      const revision = await put(at, 0);
      if (at % 5 === 0) await put(at, revision);
    }
    await put(count, 0, 3600);
    const gone = await put(count + 1, 0);
    await cache.remove(`/registry/core/pods/ns/p${count + 1}`, gone);
    await cache.close();
    return dataDir;
  }

  client(name = "tool"): FakeEtcdClient {
    return new FakeEtcdClient(this.etcd, name);
  }

  side(client: EtcdClient = this.client()): EtcdKeyspace {
    return new EtcdKeyspace({
      client,
      address: { endpoints: ["fake"], prefix: "/registry" },
      layout: {
        paths: new Map([["core/pods", "pods"]]),
        readForeign: (_key, bytes) => bytes,
        serverLeases: "/registry/coordination.k8s.io/leases/kube-system/apiserver-",
      },
      clock: this.clock,
    });
  }

  open(dataDir: string): Verification {
    const source = openVerification({ dataDir });
    this.#open.push(source);
    return source;
  }

  toEtcd(source: Verification, options: ToEtcdOptions = {}) {
    const { clock } = this;
    const common = { source, sourceName: "folder", target: this.side(options.client), cipher: plain, clock };
    return this.pass(copyToEtcd({ ...common, burns: true, progress: nothing, ...options }));
  }

  /** Writes a key of etcd; without a value it deletes it. */
  put(key: string, value: string | undefined): Promise<unknown> {
    const operation =
      value === undefined
        ? ({ kind: "delete", key } as const)
        : ({ kind: "put", key, value: Buffer.from(value) } as const);
    return this.client("other").transact({ compare: [], then: [operation], otherwise: [] }, { timeoutMs: 1000 });
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
      if (!isSettled) this.clock.advanceToNext();
    }
    return work;
  }
}

/** Returns what a store holds: keys, values, and which of them expire. */
async function contentOf(store: Verification): Promise<Map<string, string>> {
  const content = new Map<string, string>();
  const problems: string[] = [];
  await store.read(
    ({ key, value }) => void content.set(key, value.bytes.toString()),
    ({ key, problem }) => problems.push(`${key} ${problem}`),
  );
  assert.deepEqual(problems, []);
  return content;
}

test("a folder is copied into etcd and back while answers are lost, with the same keys and values", async (t) => {
  const world = new World(t);
  const dataDir = await world.fill("a", 300);
  const source = world.open(dataDir);
  world.etcd.mishaps = { ...noMishaps, lostAnswer: 0.1, brokenConnection: 0.02, refusal: 0.1, lag: 0.3 };
  const report = await world.toEtcd(source);
  assert.equal(report.keys, 302);
  const content = await contentOf(source);
  assert.deepEqual(await world.pass(verificationOf(world.side()).then(contentOf)), content);
  // All that clients of the folder know is compacted.
  const { compacted } = world.etcd.store.at(world.etcd.store.index);
  assert.ok(compacted > 363 && compacted < report.revision, `${compacted}`);

  const back = join(world.folder, "back");
  const { clock } = world;
  const options = { source: world.side(), cipher: plain, record, clock, progress: nothing };
  const returned = await world.pass(copyToFolder({ ...options, dataDir: back }));
  assert.equal(returned.digest, report.digest);
  assert.ok(returned.revision > 1_000_000_000);
  const folder = world.open(back);
  assert.deepEqual(await contentOf(folder), content);
  const expiring: string[] = [];
  await folder.read(({ key, expiresAt }) => {
    if (expiresAt > clock.now()) expiring.push(key);
  }, nothing);
  assert.deepEqual(expiring, ["/registry/core/pods/ns/p300"]);
});

test("a copy into etcd that was interrupted goes on, and only with the same store", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 300));
  const other = world.open(await world.fill("b", 10));
  let written = 0;
  const interrupted = world.toEtcd(source, {
    progress() {
      if (world.etcd.store.at(world.etcd.store.index).revision > 366) written++;
      if (written > 150) throw new Error("interrupted");
    },
  });
  await assert.rejects(interrupted, /interrupted/);
  const side = world.side();
  const before = (await world.pass(side.present())).keys;
  assert.ok(before > 1 && before < 300, `${before} keys`);
  await assert.rejects(world.toEtcd(other), /etcd at fake has a part of another store/);
  const problems: string[] = [];
  const half = await world.pass(verificationOf(side));
  await world.pass(half.read(nothing, ({ problem }) => problems.push(problem)));
  assert.deepEqual(problems, ["a copy into it is not complete: run binnacle copy again"]);
  await world.toEtcd(source);
  assert.deepEqual(await world.pass(verificationOf(side).then(contentOf)), await contentOf(source));
});

test("two copies at once do not mix", async (t) => {
  const world = new World(t);
  const [a, b] = [world.open(await world.fill("a", 200)), world.open(await world.fill("b", 200))];
  const results = await Promise.allSettled([world.toEtcd(a), world.toEtcd(b)]);
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  const winner = results[0].status === "fulfilled" ? a : b;
  assert.deepEqual(await world.pass(verificationOf(world.side()).then(contentOf)), await contentOf(winner));
});

test("an etcd that is behind the folder, or not empty, or in use is refused with what to do", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 20));
  await assert.rejects(world.toEtcd(source, { burns: false }), (error: Error) => {
    assert.ok(error instanceof StorageFailure);
    assert.match(error.message, /is at revision 1, and folder at 28/);
    assert.match(error.message, /etcdutl snapshot restore empty.db --bump-revision 1027 --mark-compacted/);
    return true;
  });
  const far: Verification = {
    ...source,
    read: async (...visitors) => ({ ...(await source.read(...visitors)), floor: 10 ** 9 }),
  };
  await assert.rejects(world.toEtcd(far), /at revision 1, and folder at 1000000000.*--burn.*2000000 at most/);
  const file = join(world.folder, "nothing");
  const empty = writeBackup({
    source: world.side(),
    cipher: plain,
    record,
    file,
    clock: world.clock,
    progress: nothing,
  });
  await assert.rejects(world.pass(empty), /has no objects below \/registry\/: is --etcd-prefix right\?/);
  const put = (key: string) => world.pass(world.put(key, "{}"));
  await put("/registry/binnacle/servers/s1");
  await assert.rejects(world.toEtcd(source), /servers use etcd at fake, and must be stopped first: server s1/);
  await world.pass(world.put("/registry/binnacle/servers/s1", undefined));
  await put("/registry/pods/ns/x");
  await assert.rejects(world.toEtcd(source), /has 1 keys already\. The etcd must be empty/);
});

test("values that cannot be read are named, and nothing is written", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 20));
  const cipher: CopyCipher = {
    ...plain,
    open: (_form, { key, value }) => (key.endsWith("p7") ? { problem: "its key is lost" } : { value }),
  };
  const common = { sourceName: "folder", cipher, burns: true, clock: world.clock, progress: nothing };
  const into = copyToEtcd({ ...common, source, target: world.side() });
  await assert.rejects(world.pass(into), /nothing was written: \/registry\/core\/pods\/ns\/p7: its key is lost/);
  assert.equal((await world.pass(world.side().present())).keys, 0);
  await world.toEtcd(source);
  const file = join(world.folder, "file");
  const out = writeBackup({ source: world.side(), cipher, record, file, clock: world.clock, progress: nothing });
  await assert.rejects(world.pass(out), /nothing was written: \/registry\/core\/pods\/ns\/p7: its key is lost/);
});

test("keys that this version does not know are named, and those that servers keep for themselves are left out", async (t) => {
  const world = new World(t);
  const put = (key: string) => world.pass(world.put(key, "{}"));
  const file = join(world.folder, "file");
  const write = () =>
    world.pass(
      writeBackup({ source: world.side(), cipher: plain, record, file, clock: world.clock, progress: nothing }),
    );
  await put("/registry/pods/ns/a");
  await put("/registry/ranges/serviceips");
  await put("/registry/masterleases/10.0.0.1");
  await put("/registry/binnacle/turns/addresses");
  assert.equal((await write()).leftOut, 3);
  rmSync(file);
  await put("/registry/newkinds/ns/b");
  await put("/registry/pods/ns/\uFFFD");
  await assert.rejects(write(), (error: Error) => {
    assert.match(error.message, /nothing was written/);
    for (const key of ["/registry/newkinds/ns/b", "/registry/pods/ns/\uFFFD"])
      assert.ok(error.message.includes(`${key}: is no key of a kind that this version knows`), error.message);
    return true;
  });
});

test("keys that share a revision in etcd get one each, and the first keeps it", async (t) => {
  const world = new World(t);
  const { client } = world.side();
  const value = (name: string): Buffer => Buffer.from(`{"metadata":{"name":"${name}","resourceVersion":""}}`);
  const put = (...names: readonly string[]) => {
    const then = names.map((name) => ({ kind: "put", key: `/registry/pods/ns/${name}`, value: value(name) }) as const);
    return world.pass(client.transact({ compare: [], then, otherwise: [] }, { timeoutMs: 1000 }));
  };
  await put("c", "a", "b");
  const { header } = await put("d");
  await put("a0");
  const file = join(world.folder, "file");
  await world.pass(
    writeBackup({ source: world.side(), cipher: plain, record, file, clock: world.clock, progress: nothing }),
  );
  const backup = openVerification({ backupFile: file });
  t.after(() => backup.close());
  const revisions: Record<string, number> = {};
  await backup.read(({ key, revision }) => {
    revisions[key.slice("/registry/".length)] = revision;
  }, nothing);
  assert.equal(header.revision, 3);
  assert.deepEqual(revisions, {
    "core/pods/ns/a": 2,
    "core/pods/ns/d": 3,
    "core/pods/ns/a0": 4,
    "binnacle/settings/api-domain": 5,
    "core/pods/ns/b": 6,
    "core/pods/ns/c": 7,
  });
});

const unfinished = "/registry/binnacle/copies/unfinished";
const someServer = "/registry/binnacle/servers/s1";

/** Returns a client that does something before each transaction which writes a key. */
const before = (client: FakeEtcdClient, written: string, act: () => Promise<unknown>): EtcdClient => ({
  ...methodsOf(client),
  async transact(transaction, options) {
    const writes = transaction.then.some((operation) => operation.kind !== "range" && operation.key === written);
    if (writes) await act();
    return client.transact(transaction, options);
  },
});

test("of a copy and a server that begin at the same time the copy gives way when the server has not seen it", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 20));
  const stays = before(world.client(), unfinished, () => world.put(someServer, "server {}"));
  await assert.rejects(
    world.toEtcd(source, { client: stays }),
    /servers use etcd at fake, and must be stopped first: server s1/,
  );
  const present = await world.pass(world.side().range({ key: "/registry/", end: "/registry0", keysOnly: true }));
  assert.deepEqual(
    present.entries.map(({ key }) => key),
    [someServer],
  );
});

test("a copy goes on when the server that began at the same time has given way", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 20));
  const common = { source, sourceName: "folder", cipher: plain, burns: true, clock: world.clock };
  let isGone = false;
  let hasBegun = false;
  const begin = async (): Promise<void> => {
    if (!hasBegun) await world.put(someServer, "server {}");
    hasBegun = true;
  };
  const target = world.side(before(world.client(), unfinished, begin));
  const report = await world.pass(
    copyToEtcd({
      ...common,
      target,
      progress(step) {
        if (step !== "waiting" || isGone) return;
        isGone = true;
        void world.put(someServer, undefined);
      },
    }),
  );
  assert.equal(isGone, true);
  assert.equal(report.keys, 22);
});

test("a damaged key of a copy, and control characters in keys, are named in one line", async (t) => {
  const world = new World(t);
  const source = world.open(await world.fill("a", 5));
  for (const value of ["", "{", "7", "{}", '{"of":"x"}', '{"of":"x","reached":-1}', '{"of":1,"reached":2}']) {
    await world.pass(world.put(unfinished, value));
    await assert.rejects(world.toEtcd(source), (error: Error) => {
      assert.ok(error instanceof StorageFailure, String(error));
      assert.match(
        error.message,
        /^\/registry\/binnacle\/copies\/unfinished in etcd at fake does not say how far a copy/,
      );
      return true;
    });
  }
  await world.pass(world.put(unfinished, undefined));
  await world.pass(world.put("/registry/binnacle/servers/\u001b[2J\n", "server {}"));
  await assert.rejects(world.toEtcd(source), /stopped first: server \?\[2J\?$/);
  const file = join(world.folder, "file");
  await world.pass(world.put("/registry/newkinds/\u001b[2J\nforged", "{}"));
  const { clock } = world;
  const out = writeBackup({ source: world.side(), cipher: plain, record, file, clock, progress: nothing });
  await assert.rejects(world.pass(out), /nothing was written: \/registry\/newkinds\/\?\[2J\?forged: is no key/);
});

test("a backup is read where it is: no file appears beside it or elsewhere, and it stays as it was", async (t) => {
  const world = new World(t);
  await world.toEtcd(world.open(await world.fill("a", 20)));
  const file = join(world.folder, "100% of?it#.backup");
  const { clock } = world;
  await world.pass(writeBackup({ source: world.side(), cipher: plain, record, file, clock, progress: nothing }));
  const bytes = readFileSync(file);
  const { TMPDIR } = process.env;
  process.env["TMPDIR"] = join(world.folder, "none");
  t.after(() => {
    if (TMPDIR === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = TMPDIR;
  });
  const files = readdirSync(world.folder);
  const backup = openVerification({ backupFile: file });
  let keys = 0;
  await backup.read(
    () => {
      keys++;
      assert.deepEqual(readdirSync(world.folder), files);
    },
    ({ problem }) => assert.fail(problem),
  );
  backup.close();
  assert.equal(keys, 22);
  assert.deepEqual(readdirSync(world.folder), files);
  assert.deepEqual(readFileSync(file), bytes);
});

test("large values are written into many tables, as a server writes them", async (t) => {
  const world = new World(t);
  const large = `{"metadata":{"name":"p","resourceVersion":""},"of":"${"x".repeat(1_000_000)}"}`;
  for (let at = 0; at < 30; at++) await world.pass(world.put(`/registry/pods/ns/p${at}`, large));
  const file = join(world.folder, "file");
  const { clock } = world;
  await world.pass(writeBackup({ source: world.side(), cipher: plain, record, file, clock, progress: nothing }));
  const database = new DatabaseSync(file, { readOnly: true });
  const tables = database.prepare("SELECT rows, bytes FROM segments ORDER BY start").all();
  database.close();
  assert.deepEqual(
    tables.map(({ rows }) => rows),
    [9, 9, 9, 4],
  );
});
