/**
 * A watch cache above an encrypted log fulfils the storage contract; unreadable values are reported, and are read when
 * their key is available.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { DelayedLog } from "#storage/delayed-log-for-tests.ts";
import { isCompacted, StorageRefusal } from "#storage/log-store.ts";
import { type LocalStoreOptions, openMemoryStore } from "#storage/memory.ts";
import { openSqliteStore, type SqliteStore } from "#storage/sqlite.ts";
import { putText, Recorder, storeContract, textOf, waitUntil } from "#storage/store.contract.ts";
import { aescbc } from "./aescbc.ts";
import { aesgcm } from "./aesgcm.ts";
import { EncryptedLog } from "./encrypted-log.ts";
import { identity } from "./identity.ts";
import { type Decrypted, TransformError, type ValueTransformer } from "./transformer.ts";
import { Transformers } from "./transformers.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-encrypted-"));
after(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(root, `store-${++folders}`);
const random = seededRandom(1);

const gcm = (fill: number): ValueTransformer => aesgcm([{ name: `k${fill}`, secret: Buffer.alloc(32, fill) }], random);
const cbc = (fill: number): ValueTransformer => aescbc([{ name: `k${fill}`, secret: Buffer.alloc(32, fill) }], random);
const transformersOf = (...providers: readonly ValueTransformer[]): Transformers =>
  new Transformers([{ resources: ["*.*"], providers }]);

/** A provider that calls another process for the key. */
class Remote implements ValueTransformer {
  readonly #inner = gcm(9);
  readonly prefix = this.#inner.prefix;
  readonly origin = this.#inner.origin;
  /** The promise for which its answers wait. */
  answer: Promise<void> = Promise.resolve();

  encrypt(value: Buffer, context: Buffer): Buffer {
    return this.#inner.encrypt(value, context);
  }

  async decrypt(value: Buffer, context: Buffer): Promise<Decrypted> {
    const kept = Buffer.from(value);
    await this.answer;
    return this.#inner.decrypt(kept, context);
  }

  knows(origin: string): boolean {
    return this.#inner.knows(origin);
  }
}

storeContract({
  name: "encrypted on disk",
  open: async (options) => {
    const wrap: LocalStoreOptions["wrap"] = (log) => new EncryptedLog(log, transformersOf(gcm(1)));
    return (await openSqliteStore({ ...options, dataDir: newFolder(), wrap })).cache;
  },
  hasLog: true,
});

storeContract({
  name: "encrypted with keys from elsewhere, far away",
  open: (options) =>
    openMemoryStore({
      ...options,
      wrap: (log) => new EncryptedLog(new DelayedLog(log, seededRandom(1)), transformersOf(new Remote(), identity)),
    }),
  hasLog: false,
});

interface Opened extends SqliteStore {
  readonly encrypted: EncryptedLog;
}

async function open(dataDir: string, transformers: Transformers): Promise<Opened> {
  let encrypted: EncryptedLog | undefined;
  const store = await openSqliteStore({
    clock: new FakeClock(),
    compactionIntervalMs: 0,
    dataDir,
    wrap: (log) => (encrypted = new EncryptedLog(log, transformers)),
  });
  assert.ok(encrypted !== undefined);
  return { ...store, encrypted };
}

/** Runs `work` with a store of this folder and closes it. */
async function within<T>(dataDir: string, transformers: Transformers, work: (store: Opened) => Promise<T>): Promise<T> {
  const store = await open(dataDir, transformers);
  try {
    return await work(store);
  } finally {
    await store.cache.close();
  }
}

const secret = "/registry/core/secrets/shop/a";
const other = "/registry/core/secrets/shop/b";
const configMap = "/registry/core/configmaps/shop/a";

const holds = (folder: string, text: string): boolean =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text));

test("only configured kinds are encrypted, with their history and deletions, and every value is read again", async () => {
  const dataDir = newFolder();
  const secrets = (): Transformers => new Transformers([{ resources: ["secrets"], providers: [gcm(1), identity] }]);
  await within(dataDir, secrets(), async ({ cache }) => {
    for (const text of ["hidden-1", "hidden-2"]) {
      const { revision } = await putText(cache, secret, cache.get(secret)?.revision ?? 0, text);
      await putText(cache, other, 0, text);
      await cache.remove(other, revision + 1);
    }
    await putText(cache, configMap, 0, "shown");
  });
  assert.deepEqual([holds(dataDir, "hidden-"), holds(dataDir, "shown")], [false, true]);
  await within(dataDir, secrets(), async ({ cache, log }) => {
    assert.equal(cache.get(secret)?.value.toString(), "hidden-2@4");
    assert.equal(cache.get(configMap)?.value.toString(), "shown@7");
    const old = await cache.rangeAt("/registry/core/secrets/", { at: 2 });
    assert(!isCompacted(old));
    assert.deepEqual(
      old.entries.map((entry) => entry.value.toString()),
      ["hidden-1@1", "hidden-1@2"],
    );
    const recorder = await Recorder.open(cache, { prefix: "/registry/core/secrets/", after: 1 });
    await recorder.until(5);
    assert.deepEqual(recorder.texts.slice(0, 3), ["ADDED hidden-1@2", "DELETED hidden-1@3", "MODIFIED hidden-2@4"]);
    recorder.watch.close();
    const copy = join(dataDir, "copy.db");
    await log.backup(copy);
    assert.equal(readFileSync(copy).includes("hidden-"), false);
  });
});

test("a value is stale until it is written by the first key of the first provider", async () => {
  const dataDir = newFolder();
  const rotateKeys = (): Transformers => transformersOf(gcm(2), gcm(1), identity);
  await within(dataDir, transformersOf(identity), ({ cache }) => putText(cache, configMap, 0, "c"));
  await within(dataDir, transformersOf(gcm(1), identity), async ({ cache }) => {
    assert.equal(cache.isStale(configMap), true);
    await putText(cache, secret, 0, "a");
    assert.equal(cache.isStale(secret), false);
  });
  await within(dataDir, rotateKeys(), async ({ cache }) => {
    assert.equal(cache.isStale(secret), true);
    await putText(cache, secret, cache.get(secret)!.revision, "a");
    await putText(cache, configMap, cache.get(configMap)!.revision, "c");
    assert.deepEqual([cache.isStale(secret), cache.isStale(configMap)], [false, false]);
  });
  await within(dataDir, transformersOf(gcm(2)), async ({ cache }) => {
    assert.deepEqual([cache.isStale(secret), cache.isStale(configMap)], [false, false]);
    assert.equal(cache.get(secret)?.value.toString(), `a@${cache.get(secret)?.revision}`);
  });
});

test("another configuration makes values stale at once, and says how many lose their key", async () => {
  await within(newFolder(), transformersOf(gcm(1)), async ({ cache, encrypted }) => {
    await putText(cache, secret, 0, "a");
    const form = encrypted.formName;
    assert.equal(typeof form, "string");
    await encrypted.use(transformersOf(gcm(1), identity));
    assert.equal(encrypted.formName, form, "values are stored as before");
    assert.deepEqual(await encrypted.use(transformersOf(cbc(2), gcm(1))), { values: 0, key: undefined });
    assert.notEqual(encrypted.formName, form, "other processes learn that values are stored in another form");
    assert.equal(cache.isStale(secret), true);
    assert.deepEqual(await encrypted.use(transformersOf(cbc(2))), { values: 1, key: secret });
    assert.equal(cache.get(secret)?.value.toString(), "a@1");
    await putText(cache, secret, 1, "a");
    assert.deepEqual(await encrypted.use(transformersOf(cbc(2))), { values: 0, key: undefined });
  });
});

test("a value without its key is unreadable, and nothing else is; it is read when the key is back", async () => {
  const dataDir = newFolder();
  await within(dataDir, transformersOf(gcm(1)), ({ cache }) => putText(cache, secret, 0, "a"));
  await within(dataDir, transformersOf(gcm(2), gcm(1)), ({ cache }) => putText(cache, other, 0, "b"));
  await within(dataDir, transformersOf(gcm(2)), async ({ cache, encrypted }) => {
    const problem = "no matching key was found for the provided AES transformer";
    assert.deepEqual([cache.get(secret)?.unreadable, cache.get(secret)?.value.length], [problem, 0]);
    assert.deepEqual([cache.get(other)?.unreadable, cache.get(other)?.value.toString()], [undefined, "b@2"]);
    assert.equal((await cache.put(secret, 0, textOf("new"))).ok, false);
    const recorder = await Recorder.open(cache, { prefix: "/registry/core/secrets/", after: cache.revision });
    const elsewhere = await Recorder.open(cache, { prefix: "/registry/core/pods/", after: cache.revision });
    await encrypted.use(transformersOf(gcm(2), gcm(1)));
    assert.equal(cache.get(secret)?.value.toString(), "a@1");
    assert.deepEqual([cache.get(secret)?.unreadable, encrypted.unreadable], [undefined, 0]);
    // A watch of the collection that began earlier begins again.
    assert.deepEqual([recorder.ended, elsewhere.ended], ["slow", undefined]);
  });
});

test("an unreadable value can be replaced and deleted by its revision, and its history is unreadable as well", async () => {
  const dataDir = newFolder();
  await within(dataDir, transformersOf(gcm(1)), async ({ cache }) => {
    await putText(cache, secret, 0, "a");
    await putText(cache, other, 0, "b");
  });
  await within(dataDir, transformersOf(gcm(2)), async ({ cache, encrypted }) => {
    await putText(cache, secret, 1, "again");
    await cache.remove(other, 2);
    assert.deepEqual([cache.get(secret)?.value.toString(), cache.get(other)], ["again@3", undefined]);
    assert.equal(encrypted.unreadable, 0);
    const old = await cache.rangeAt("/registry/core/secrets/", { at: 2 });
    assert(!isCompacted(old));
    assert.deepEqual(
      old.entries.map(({ unreadable }) => typeof unreadable),
      ["string", "string"],
    );
  });
});

test("the store opens when the plugin has decrypted all values", async () => {
  const dataDir = newFolder();
  await within(dataDir, transformersOf(new Remote()), async ({ cache }) => {
    for (let i = 0; i < 50; i++) await putText(cache, `${secret}${i}`, 0, "a");
  });
  const remote = new Remote();
  const answer = Promise.withResolvers<void>();
  remote.answer = answer.promise;
  let isOpen = false;
  const opening = open(dataDir, transformersOf(remote)).finally(() => {
    isOpen = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOpen, false);
  answer.resolve();
  const { cache } = await opening;
  const { entries } = cache.range("/registry/core/secrets/");
  assert.equal(entries.filter(({ value, revision }) => value.toString() === `a@${revision}`).length, 50);
  await cache.close();
});

test("an object that expires before it could be decrypted is reported as created and deleted in order", async () => {
  const dataDir = newFolder();
  const clock = new FakeClock();
  await within(dataDir, transformersOf(new Remote()), async ({ cache }) => {
    await cache.put(secret, 0, textOf("a"), { ttlSeconds: 1 });
    await putText(cache, other, 0, "b");
  });
  const remote = new Remote();
  const answer = Promise.withResolvers<void>();
  remote.answer = answer.promise;
  let encrypted: EncryptedLog | undefined;
  const wrap: LocalStoreOptions["wrap"] = (log) => (encrypted = new EncryptedLog(log, transformersOf(remote)));
  const opening = openSqliteStore({ clock, compactionIntervalMs: 0, dataDir, wrap });
  // The log has deleted the entry while its value is still being decrypted.
  await waitUntil(() => {
    clock.advance(1000);
    return encrypted?.revision === 3;
  });
  answer.resolve();
  const { cache } = await opening;
  const { entries } = cache.range("/registry/core/secrets/");
  await cache.close();
  assert.deepEqual(
    entries.map((entry) => entry.value.toString()),
    ["b@2"],
  );
});

test("a write that cannot be encrypted is refused with the reason, and nothing is written", async () => {
  const broken: ValueTransformer = {
    ...identity,
    prefix: Buffer.from("k8s:enc:broken:"),
    origin: "broken",
    encrypt() {
      throw new TransformError("there is no key");
    },
  };
  await within(newFolder(), transformersOf(broken, identity), async ({ cache }) => {
    await assert.rejects(cache.put(secret, 0, textOf("a")), (error: Error) => {
      assert.ok(error instanceof StorageRefusal);
      assert.equal(error.message, "there is no key");
      return true;
    });
    assert.deepEqual([cache.get(secret), cache.revision], [undefined, 0]);
  });
});

test("keys are for the first rule that names their resource; the server's own records stay in clear", () => {
  const [a, b, c, d] = [gcm(1), gcm(2), gcm(3), gcm(4)];
  const transformers = new Transformers([
    { resources: ["secrets", "deployments.apps"], providers: [a] },
    { resources: ["*.apps"], providers: [b] },
    { resources: ["*."], providers: [c] },
    { resources: ["*.*"], providers: [d] },
  ]);
  const origin = (key: string): string | undefined => transformers.of(key).origin;
  assert.equal(origin("/registry/core/secrets/ns/n"), a.origin);
  assert.equal(origin("/registry/apps/deployments/ns/n"), a.origin);
  assert.equal(origin("/registry/apps/secrets/ns/n"), b.origin);
  assert.equal(origin("/registry/core/namespaces/n"), c.origin);
  assert.equal(origin("/registry/example.com/secrets/n"), d.origin);
  assert.equal(origin("/registry/binnacle/settings/api-domain"), "");
  const added = new Transformers([
    { resources: ["secrets"], providers: [a] },
    { resources: ["secrets"], providers: [b] },
  ]).of("/registry/core/secrets/ns/n");
  assert.deepEqual([added.origin, added.knows(b.origin!)], [a.origin, true]);
  const few = new Transformers([{ resources: ["secrets"], providers: [a] }]);
  assert.equal(few.of("/registry/apps/secrets/ns/n").origin, "");
});
