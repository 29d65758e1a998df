/** Informers: indexes, listeners, and a copy that stays true whatever happens to lists, watches and connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#meta/object-meta.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom, type Random } from "#std/random.ts";
import { FakeApi } from "./fake-api.ts";
import { Informer, type InformerEvent } from "./informer.ts";
import { RestClient } from "./rest-client.ts";

const path = "/api/v1/configmaps";

/** Writes a config map, whose label tells whether its version is odd, or deletes it. */
function write(api: FakeApi, name: string, isDeletion: boolean): void {
  const key = `ns/${name}`;
  const labels = { half: String((api.revision + 1) % 2) };
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { namespace: "ns", name, labels } };
  api.store(path, key, isDeletion ? undefined : object);
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

interface Followed {
  readonly api: FakeApi;
  readonly clock: FakeClock;
  readonly informer: Informer<ApiObject>;
  readonly failures: unknown[];
}

function follow(api: FakeApi, random?: Random): Followed {
  const clock = new FakeClock();
  const failures: unknown[] = [];
  const informer = new Informer<ApiObject>({
    client: new RestClient(api),
    path,
    streamsLists: true,
    clock,
    ...(random === undefined ? {} : { random }),
    signal: new AbortController().signal,
    index: { half: ({ metadata }) => Object.values(metadata.labels ?? {}) },
    failed: (error) => failures.push(error),
  });
  return { api, clock, informer, failures };
}

const names = (objects: readonly ApiObject[]): unknown[] => objects.map(({ metadata }) => metadata.name).sort();

void test("an informer has all objects by key and by index, and tells changes", async () => {
  const api = new FakeApi();
  for (const name of ["a", "b", "c", "d"]) write(api, name, false);
  const { informer } = follow(api);
  await informer.synced;
  assert.deepEqual(names(informer.list()), ["a", "b", "c", "d"]);
  assert.equal(informer.get("ns/a")?.metadata.resourceVersion, "2");
  assert.deepEqual(names(informer.in("ns")), ["a", "b", "c", "d"]);
  assert.deepEqual(informer.in("other"), []);
  assert.deepEqual(names(informer.by("half", "0")), ["a", "c"]);
  const events: string[] = [];
  const end = informer.subscribe(({ type, object }) => void events.push(`${type} ${object.metadata.name}`));
  write(api, "a", false);
  write(api, "b", true);
  write(api, "e", false);
  await turns();
  assert.deepEqual(events.slice(4), ["changed a", "deleted b", "added e"]);
  assert.deepEqual(names(informer.by("half", "0")), ["a", "c", "e"]);
  end();
  write(api, "c", true);
  await turns();
  assert.equal(events.length, 7);
  assert.throws(() => informer.by("owner", "x"), RangeError);
  await informer.close();
});

void test("a server that sends no first objects in a watch is listed in pages", async () => {
  const api = new FakeApi();
  api.streamsLists = false;
  for (let at = 0; at < 10; at++) write(api, `m${at}`, false);
  const { informer, failures } = follow(api);
  await informer.synced;
  assert.equal(informer.size, 10);
  assert.deepEqual(failures, []);
  await informer.close();
});

void test("a listener that throws is reported, and is called again", async () => {
  const { informer, api, failures } = follow(new FakeApi());
  await informer.synced;
  let calls = 0;
  informer.subscribe(() => {
    calls++;
    throw new Error("oops");
  });
  write(api, "a", false);
  write(api, "b", false);
  await turns();
  assert.equal(calls, 2);
  assert.equal(failures.length, 2);
  await informer.close();
});

void test("waiting for an informer that is closed before its first objects ends", async () => {
  const api = new FakeApi();
  api.failing = 100;
  const { informer } = follow(api);
  await turns();
  assert.ok(informer.lastFailure instanceof Error);
  await informer.close();
  await assert.rejects(informer.synced, /closed/);
});

void test("after any sequence of faults the copy is that of the server, and every deletion was told", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seededRandom(seed);
    const api = new FakeApi();
    api.streamsLists = seed % 2 === 0;
    const { clock, informer } = follow(api, random);
    const told = new Map<string, InformerEvent<ApiObject>["type"]>();
    informer.subscribe(({ type, object }) => void told.set(object.metadata.uid!, type));
    for (let step = 0; step < 200; step++) {
      const chance = random.next();
      if (chance < 0.6) write(api, `m${Math.floor(random.next() * 12)}`, random.next() < 0.4);
      else if (chance < 0.68) api.cut(random.next() < 0.5 ? undefined : new Error("connection reset"));
      else if (chance < 0.74) api.compacted = api.revision;
      else if (chance < 0.8) api.failing = Math.floor(random.next() * 4);
      if (random.next() < 0.3) await turns();
      if (random.next() < 0.2) clock.advance(random.next() * 5000);
    }
    api.failing = 0;
    for (let wait = 0; wait < 8; wait++) {
      clock.advance(25_000);
      await turns();
    }
    const state = (objects: Iterable<ApiObject>): string[] =>
      [...objects].map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).sort();
    assert.deepEqual(state(informer.list()), state(api.objects(path).values()), `seed ${seed}`);
    const present = new Set([...api.objects(path).values()].map(({ metadata }) => metadata.uid));
    for (const [uid, type] of told) assert.equal(type === "deleted", !present.has(uid), `seed ${seed}: ${uid}`);
    await informer.close();
  }
});
