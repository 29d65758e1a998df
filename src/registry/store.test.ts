/** Tests a store beyond the HTTP suites: objects that cannot be decoded, lost races, two-phase deletion. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "#meta/context-for-tests.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { invalidObject, StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { Int64 } from "#std/int64.ts";
import { seededRandom } from "#std/random.ts";
import { rawNumber } from "#std/raw-number.ts";
import { openMemoryStore } from "#storage/memory.ts";
import type { StoreEvent } from "#storage/watch-cache.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { thingDefinition } from "./definition-for-tests.ts";
import type { Strategy, WriteAttributes } from "./resource-definition.ts";
import { Store } from "./store.ts";
import { StoredObjects } from "./stored-object.ts";

const definition = thingDefinition({ type: "object", fields: new Map() }, { generation: true });

const context = testContext({ user: { name: "tester", groups: [] } });
const attributes: WriteAttributes = { context, subresource: "", dryRun: false };
const readable = (): StatusError => invalidObject({ group: "", kind: "DeleteOptions" }, "", []);

async function setup(strategy: Strategy = {}) {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  const store = new Store({
    definition: { ...definition, strategy },
    cache,
    objects: new StoredObjects(4),
    objectBytesMax: 2 ** 20,
    clock,
    random: seededRandom(1),
  });
  return { cache, store, clock };
}

const thing = (name: string, more: object = {}): Unstructured => ({
  kind: "Thing",
  apiVersion: "example.com/v1",
  metadata: { name, namespace: "ns", ...more },
});

async function failureOf(answer: Promise<unknown>): Promise<{ code: number; reason: string | undefined }> {
  try {
    await answer;
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return { code: error.status.code, reason: error.status.reason };
  }
  assert.fail("nothing was refused");
}

test("a corrupt object is removed on request, and by nothing else [DELST-06]", async () => {
  const { cache, store } = await setup();
  await cache.put(store.key("ns", "broken"), 0, {
    ...withoutRevision(Buffer.from("{\u0000")),
    decode: () => undefined,
  });
  const plain = await failureOf(store.delete("ns", "broken", { dryRun: false }));
  assert.deepEqual(plain, { code: 500, reason: "StorageReadError" });
  assert.ok(store.peek("ns", "broken") !== undefined);
  await store.removeUnreadable("ns", "broken", readable);
  assert.equal(store.peek("ns", "broken"), undefined);
});

test("a request that may no longer write is refused when it would be stored, whatever it is", async () => {
  const { cache, store } = await setup();
  const broken = { ...withoutRevision(Buffer.from("{\u0000")), decode: () => undefined };
  await cache.put(store.key("ns", "broken"), 0, broken);
  const { entry } = await store.create(thing("kept"), attributes);
  const leaseKey = store.key("ns", "lease");
  const lease = await store.create(thing("lease"), attributes);
  let held = lease.entry!.revision;
  const caller: RequestContext = { ...context, requires: () => [{ key: leaseKey, revision: held }] };
  const fenced: WriteAttributes = { ...attributes, context: caller };
  const change = (object: Unstructured | undefined): Unstructured => ({ ...object!, spec: { changed: true } });
  const options = { allowCreate: false, transform: change };
  // Another candidate takes the lease when all plugins have admitted the write.
  const end = async (): Promise<void> => {
    held = cache.get(leaseKey)!.revision;
    await cache.put(leaseKey, held, broken);
  };
  const attempts: (() => Promise<unknown>)[] = [
    () => store.create(thing("new"), fenced, end),
    () => store.update("ns", "kept", fenced, { ...options, validate: end }),
    () => store.delete("ns", "kept", { dryRun: false, caller, admit: end }),
    () => store.removeUnreadable("ns", "broken", readable, end, caller),
  ];
  for (const attempt of attempts) {
    const { revision } = cache;
    await assert.rejects(attempt(), /another writer changed the Lease/);
    assert.equal(cache.revision, revision + 1);
  }
  assert.equal(store.peek("ns", "new"), undefined);
  assert.equal(store.peek("ns", "kept")?.revision, entry?.revision);
  // A leader that has renewed its lease meanwhile writes all the same.
  const renewed = cache.get(leaseKey)!.revision;
  const renewing = {
    ...context,
    requires: (isRefused: boolean) => [{ key: leaseKey, revision: isRefused ? renewed : 1 }],
  };
  await store.update(
    "ns",
    "kept",
    { ...attributes, context: renewing },
    { ...options, transform: (object) => object! },
  );
  held = renewed;
  await store.update("ns", "kept", fenced, options);
});

test("an update that has lost its turn creates the object when it is gone meanwhile, and holds up no other write", async () => {
  const release = (): void => undefined;
  const { store, cache, clock } = await setup({ allocate: (object) => ({ object, release }) });
  await store.create(thing("a"), attributes);
  const put = cache.put.bind(cache);
  cache.put = async (key, expected, ...rest) => {
    if (expected === 0) return put(key, expected, ...rest);
    // Another server takes the turn, and deletes the object.
    await cache.remove(key, expected);
    return { ok: false, current: undefined, failed: "turn" };
  };
  const change = (): Unstructured => thing("a", { labels: { changed: "yes" } });
  const updating = store.update("ns", "a", attributes, {
    allowCreate: true,
    transform: change,
  });
  const others = store.create(thing("b"), attributes);
  let isDone = false;
  const done = Promise.all([updating, others]).then(() => (isDone = true));
  for (let turns = 0; turns < 200 && !isDone; turns++) {
    clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(isDone, true, "both writes have ended");
  await done;
  assert.equal((await updating).created, true);
});

test("finalizers and preconditions do not hold a corrupt object [DELST-07] [DELST-08]", async () => {
  const { cache, store } = await setup();
  const { entry } = await store.create(thing("held", { finalizers: ["example.com/hold"] }), attributes);
  assert.ok(entry !== undefined);
  const cut = entry.value.subarray(0, entry.value.length - 8);
  await cache.put(entry.key, entry.revision, { ...withoutRevision(cut), decode: () => undefined });
  await store.removeUnreadable("ns", "held", readable);
  assert.equal(store.peek("ns", "held"), undefined);
});

test("an object that can be read is not removed that way [DELST-09]", async () => {
  const { store } = await setup();
  await store.create(thing("fine"), attributes);
  assert.equal((await failureOf(store.removeUnreadable("ns", "fine", readable))).code, 422);
  assert.ok(store.peek("ns", "fine") !== undefined);
});

test("a grace period counts from the first deletion, and 64 bits of nanoseconds at most", async () => {
  const { store, clock } = await setup({ graceSeconds: (_object, requested) => requested ?? 30 });
  const deleteThing = async (name: string, gracePeriodSeconds?: Int64): Promise<number> => {
    const { object } = await store.delete("ns", name, { gracePeriodSeconds, dryRun: false });
    return Date.parse(object.metadata.deletionTimestamp ?? "");
  };
  await store.create(thing("a"), attributes);
  const startMs = clock.now();
  assert.equal(await deleteThing("a"), startMs + 30_000);
  clock.advance(5000);
  assert.equal(await deleteThing("a", 40), startMs + 30_000);
  assert.equal(await deleteThing("a", 20), startMs + 20_000);
  assert.equal(await deleteThing("a", 0), startMs);
  assert.equal(store.peek("ns", "a"), undefined);
  await store.create(thing("b"), attributes);
  assert.equal(await deleteThing("b", rawNumber("9223372036854775807")), clock.now() - 1000);
});

test("an update that insists on no version sees what others wrote meanwhile", async () => {
  const { store } = await setup();
  await store.create(thing("a"), attributes);
  let tries = 0;
  const { object } = await store.update("ns", "a", attributes, {
    allowCreate: false,
    async transform(current) {
      assert.ok(current !== undefined);
      const { resourceVersion: _version, ...metadata } = current.metadata;
      if (tries++ === 0) {
        await store.update("ns", "a", attributes, {
          allowCreate: false,
          transform: (old) => ({ ...old, metadata: { ...metadata, labels: { other: "yes" } } }),
        });
      }
      return { ...current, metadata: { ...metadata, labels: { ...metadata.labels, mine: "yes" } } };
    },
  });
  assert.equal(tries, 2);
  assert.deepEqual(object.metadata.labels, { other: "yes", mine: "yes" });
});

test("objects decode again after they have left the cache", async () => {
  const { store } = await setup();
  for (let i = 0; i < 20; i++) await store.create(thing(`t${i}`, { labels: { i: String(i) } }), attributes);
  const names = [...store.peekAll()].map((object) => object.metadata.labels?.["i"]);
  assert.deepEqual(names.toSorted(), Array.from({ length: 20 }, (_, i) => String(i)).toSorted());
});

test("a deletion is told with the last state at the version of the deletion", async () => {
  const { store, cache } = await setup();
  const { entry } = await store.create(thing("a", { labels: { l: "1" } }), attributes);
  const told = new Promise<StoreEvent>((resolve) => {
    const deliver = (events: readonly StoreEvent[]): boolean => {
      resolve(events[0]!);
      return true;
    };
    void cache.watch({ prefix: store.prefix, after: entry!.revision, deliver, ended: () => undefined });
  });
  const deleted = await store.delete("ns", "a", { dryRun: false });
  assert.equal(deleted.removed, true);
  const last = JSON.parse((await told).entry.value.toString()) as Unstructured;
  assert.equal(last.metadata.resourceVersion, String(cache.revision));
  assert.notEqual(last.metadata.resourceVersion, String(entry!.revision));
  assert.deepEqual(last.metadata.labels, { l: "1" });
});

test("an update that ends an object answers with what it wrote; the deletion is told with what was there", async () => {
  const { store, cache } = await setup();
  await store.create(thing("a", { labels: { l: "1" }, finalizers: ["example.com/hold"] }), attributes);
  const marked = await store.delete("ns", "a", { dryRun: false });
  const revision = cache.revision;
  const { object, entry } = await store.update("ns", "a", attributes, {
    allowCreate: false,
    transform: (current) => {
      const { finalizers: _finalizers, ...metadata } = current!.metadata;
      return Promise.resolve({ ...current!, metadata: { ...metadata, labels: { l: "2" } } });
    },
  });
  assert.equal(entry, undefined);
  assert.deepEqual(object.metadata.labels, { l: "2" });
  assert.equal(object.metadata.resourceVersion, marked.object.metadata.resourceVersion);
  assert.equal(cache.get(store.key("ns", "a")), undefined);
  assert.equal(cache.revision, revision + 1);
});

test("a deletion whose marked object another writer ends has succeeded, and leaves a later object of the name", async () => {
  for (const isMadeAnew of [false, true]) {
    const { store, cache } = await setup({ graceSeconds: () => 0 });
    const { object: first } = await store.create(thing("a"), attributes);
    const options = { allowCreate: false, transform: (one?: Unstructured) => one! };
    const remove = cache.remove.bind(cache);
    let removals = 0;
    cache.remove = async (...args) => {
      // A controller acts on the mark.
      if (removals++ === 0) {
        await store.update("ns", "a", attributes, options);
        if (isMadeAnew) await store.create(thing("a"), attributes);
      }
      return remove(...args);
    };
    const deleted = await store.delete("ns", "a", { dryRun: false });
    assert.equal(deleted.removed, true);
    assert.equal(deleted.object.metadata.uid, first.metadata.uid);
    assert.notEqual(deleted.object.metadata.deletionTimestamp, undefined);
    assert.equal(store.peek("ns", "a") !== undefined, isMadeAnew);
  }
});

test("an apply that finds the object just created changes it instead", async () => {
  const { store } = await setup();
  const seen: (Unstructured | undefined)[] = [];
  const stored = await store.update("ns", "one", attributes, {
    allowCreate: true,
    async transform(current) {
      seen.push(current);
      if (current === undefined) await store.create({ ...thing("one"), spec: "first" }, attributes);
      return { ...(current ?? thing("one")), spec: "second" };
    },
  });
  assert.equal(stored.created, false);
  assert.equal(stored.object["spec"], "second");
  assert.deepEqual(
    seen.map((current) => current?.["spec"]),
    [undefined, "first"],
  );
});
