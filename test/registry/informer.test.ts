/** Tests that followers of a store are up to date with it when a write is acknowledged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { builtInDefinitions } from "#kinds/built-in.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import type { ResourceDefinition, WriteAttributes } from "#registry/resource-definition.ts";
import { Store } from "#registry/store.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import { seededRandom } from "#std/random.ts";
import type { WatchCache, WatchOptions } from "#storage/watch-cache.ts";
import { openMemoryStore } from "#storage/memory.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import { type InformerHandlers, objectHandlers, StoreInformer, waitForSync } from "#registry/informer.ts";

const environment = {
  domain: kubernetesDomain,
  gate: () => false,
  allowsPrivileged: true,
  eventTtlSeconds: 0,
  now: () => 0,
  decodeJson: JSON.parse,
};
const roles = builtInDefinitions(
  loadDefinitions(kubernetesDomain),
  environment,
  ({ resource }) => resource === "roles",
)[0]!;

const write: WriteAttributes = { context: testContext(), subresource: "", dryRun: false };
const role = (name: string): Unstructured => ({
  kind: "Role",
  apiVersion: "rbac.authorization.k8s.io/v1",
  metadata: { name, namespace: "n" },
  rules: [],
});

async function setup() {
  const clock = new FakeClock();
  const memory = await openMemoryStore({ clock });
  /** Functions that end the watches, one for each watch that was requested. */
  const watches: WatchOptions["ended"][] = [];
  let failures: Error[] = [];
  const cache: WatchCache = new Proxy(memory, {
    get(target, key) {
      if (key === "watch") {
        return (options: WatchOptions) => {
          let isOver = false;
          const ended: WatchOptions["ended"] = (reason) => {
            if (!isOver) options.ended(reason);
            isOver = true;
          };
          watches.push(ended);
          const failure = failures.shift();
          if (failure !== undefined) return Promise.reject(failure);
          return target.watch({ ...options, deliver: (events) => isOver || options.deliver(events), ended });
        };
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const present = new Map<string, ApiObject>();
  let cleared = 0;
  const errors: string[] = [];
  let informer: StoreInformer | undefined;
  const definition: ResourceDefinition = waitForSync(roles, () => informer);
  const store = new Store({
    definition,
    cache,
    objects: new StoredObjects(),
    clock,
    random: seededRandom(1),
    objectBytesMax: 2 ** 20,
  });
  const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) };
  const handlers = objectHandlers(store, log, {
    cleared() {
      cleared++;
      present.clear();
    },
    changed(namespace, name, object) {
      if (object === undefined) present.delete(`${namespace}/${name}`);
      else present.set(`${namespace}/${name}`, object);
    },
  });
  informer = new StoreInformer({ cache, prefix: store.prefix, clock, log, ...handlers });
  const names = (): string[] => [...present.keys()].sort();
  const fail = (...errors: Error[]): void => void (failures = errors);
  return { cache, clock, store, informer, watches, names, errors, fail, cleared: () => cleared };
}

test("existing objects are handed over at the start, later writes before they are answered", async () => {
  const { cache, store, informer, names } = await setup();
  await cache.put(store.key("n", "old"), 0, {
    ...withoutRevision(Buffer.from(`${JSON.stringify(role("old"))}\n`)),
    decode: () => undefined,
  });
  await informer.start();
  assert.deepEqual(names(), ["n/old"]);
  await Promise.all(["a", "b", "c"].map((name) => store.create(role(name), write)));
  assert.deepEqual(names(), ["n/a", "n/b", "n/c", "n/old"]);
  await store.delete("n", "b", { dryRun: false });
  assert.deepEqual(names(), ["n/a", "n/c", "n/old"]);
  informer.close();
  await store.create(role("late"), write);
});

test("when events were missed everything is read again", async () => {
  const { store, informer, watches, names, cleared } = await setup();
  await informer.start();
  await store.create(role("a"), write);
  watches[0]!("slow");
  await store.create(role("b"), write);
  await store.delete("n", "a", { dryRun: false });
  assert.equal(watches.length, 2);
  assert.equal(cleared(), 2);
  assert.deepEqual(names(), ["n/b"]);
  informer.close();
});

test("a watch that cannot be begun again is tried again with growing pauses, and writers wait as long", async () => {
  const { clock, store, informer, watches, names, errors, fail } = await setup();
  await informer.start();
  fail(...Array.from({ length: 9 }, () => new Error("disk I/O error")));
  watches[0]!("slow");
  await turn();
  let isWritten = false;
  const written = store.create(role("a"), write).then(() => (isWritten = true));
  const pauses: number[] = [];
  for (let tries = 2; tries < 11; tries++) {
    assert.equal(watches.length, tries);
    assert.equal(errors.length, tries - 1);
    assert.equal(isWritten, false);
    assert.equal(informer.synced, false);
    let pause = 0;
    for (; watches.length === tries; pause += 100) {
      clock.advance(100);
      await turn();
    }
    pauses.push(pause);
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  await written;
  assert(isWritten);
  assert.equal(informer.synced, true);
  assert.deepEqual(names(), ["n/a"]);
  // The next attempt begins after a short pause.
  fail(new Error("disk I/O error"));
  watches.at(-1)!("slow");
  await turn();
  clock.advance(100);
  await store.create(role("b"), write);
  assert.deepEqual(names(), ["n/a", "n/b"]);
  informer.close();
});

test("a watch that was closed by a fault is begun again, one that was closed with its store is not", async () => {
  const { cache, clock, store, informer, watches, names, errors } = await setup();
  await informer.start();
  watches[0]!("closed");
  await store.create(role("a"), write);
  assert.deepEqual(names(), ["n/a"]);
  assert.equal(watches.length, 2);
  await cache.close();
  await turn();
  clock.advance(100_000);
  await turn();
  assert.equal(watches.length, 3);
  assert.deepEqual(errors, []);
  assert.equal(informer.caughtUpTo(1_000_000), undefined, "a closed informer lets no writer wait");
});

test("an informer that was closed tries no more, and lets writers go", async () => {
  const { clock, store, informer, watches, fail } = await setup();
  await informer.start();
  fail(new Error("disk I/O error"));
  watches[0]!("slow");
  await turn();
  const written = store.create(role("a"), write);
  informer.close();
  await written;
  clock.advance(100_000);
  await turn();
  assert.equal(watches.length, 2);
});

test("an object that cannot be read counts as none, and is told of", async () => {
  const { cache, store, informer, names, errors } = await setup();
  await cache.put(store.key("n", "torn"), 0, {
    ...withoutRevision(Buffer.from('{"kind":')),
    decode: () => undefined,
  });
  await informer.start();
  assert.deepEqual(names(), []);
  assert.deepEqual(errors, ["an object that decides about requests is unreadable"]);
  informer.close();
});

/** Makes an informer with the handlers of the test. */
async function informerOf(handlers: InformerHandlers) {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  const errors: string[] = [];
  const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) };
  const informer = new StoreInformer({ cache, prefix: "/r/", clock, log, ...handlers });
  const put = (key: string) => cache.put(key, 0, { ...withoutRevision(Buffer.from("{}")), decode: () => undefined });
  return { cache, clock, informer, errors, put };
}

test("a handler that fails is told everything anew, with growing pauses, and writers wait as long", async () => {
  const lines: string[] = [];
  let failures = 0;
  const { clock, informer, errors, put } = await informerOf({
    replace(entries) {
      if (failures-- > 0) throw new Error("no memory");
      lines.push(`all ${entries.map(({ key }) => key).join()}`);
    },
    handle(events) {
      const keys = events.map(({ entry }) => entry.key).join();
      if (keys === "/r/bad") {
        failures = 2;
        throw new Error("a bug");
      }
      lines.push(keys);
    },
  });
  assert.equal(informer.synced, false);
  await informer.start();
  assert.equal(informer.synced, true);
  await put("/r/a");
  await turn();
  const { entry } = (await put("/r/bad")) as { readonly entry: { readonly revision: number } };
  let isDone = false;
  void Promise.resolve(informer.caughtUpTo(entry.revision)).then(() => (isDone = true));
  for (const pause of [100, 200]) {
    await turn();
    assert.equal(isDone, false);
    clock.advance(pause);
  }
  await turn();
  assert.equal(isDone, true);
  assert.deepEqual(lines, ["all ", "/r/a", "all /r/a,/r/bad"]);
  assert.equal(errors.length, 3);
  await put("/r/c");
  await turn();
  assert.equal(lines.at(-1), "/r/c", "it is followed again");
  informer.close();
});

test("events that come while a handler is at work are handed over together after it, and count when it has handled them", async () => {
  const lines: string[] = [];
  const gates: (() => void)[] = [];
  const { informer, put } = await informerOf({
    replace: () => undefined,
    handle(events) {
      lines.push(events.map(({ entry }) => entry.key).join());
      return new Promise<void>((resolve) => gates.push(resolve));
    },
  });
  await informer.start();
  await put("/r/a");
  await turn();
  await put("/r/b");
  const { entry } = (await put("/r/c")) as { readonly entry: { readonly revision: number } };
  await turn();
  assert.deepEqual(lines, ["/r/a"]);
  let isDone = false;
  void Promise.resolve(informer.caughtUpTo(entry.revision)).then(() => (isDone = true));
  gates.shift()!();
  await turn();
  assert.deepEqual(lines, ["/r/a", "/r/b,/r/c"]);
  assert.equal(isDone, false);
  gates.shift()!();
  await turn();
  assert.equal(isDone, true);
  informer.close();
});
