/** Objects that belong to an owner by its selector, statuses that are written as a whole, batches of calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { controller, inBatches, isConditionTrue, type ReconcileContext, setCondition } from "../controllers.ts";
import { ConfigMap } from "../kinds.ts";
import { failure } from "../fake-api.ts";
import type { Transport } from "../transport.ts";
import { Boat, boatsPath, type Harbour, inHarbour, mapsPath, settle } from "./harbour-for-tests.ts";

const selector = ({ metadata }: Boat) => ({ matchLabels: { boat: metadata.name } });

/** A controller of boats whose charts have a label with the name of their boat. */
const charts = (reconcile: (boat: Boat, context: ReconcileContext<Boat>) => Promise<void>) =>
  controller(Boat, { owns: [ConfigMap], selector, reconcile });

const chart = (name: string, boat: string, metadata: Partial<ObjectMeta> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { ...metadata, name, namespace: "shop", labels: { boat } },
});

void test("objects that nobody controls are adopted by the selector, and released when it does not match any more", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    const claimed: string[] = [];
    const owners: boolean[] = [];
    const boats = charts(async (boat, { claim, owned }) => {
      const names = (await claim(ConfigMap)).map(({ metadata }) => metadata.name);
      claimed.push(names.join(" "));
      owners.push(...owned(ConfigMap).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid === boat.metadata.uid));
    });
    harbour.boat("ketch");
    const other = { apiVersion: "v1", kind: "Pier", name: "east", uid: "pier", controller: true };
    api.store(mapsPath, "shop/taken", chart("taken", "ketch", { ownerReferences: [other] }));
    api.store(mapsPath, "shop/foreign", chart("foreign", "yawl"));
    const { failures } = await harbour.run([boats]);
    assert.equal(claimed.at(-1), "");
    api.store(mapsPath, "shop/free", chart("free", "ketch"));
    await settle();
    assert.equal(claimed.at(-1), "free");
    const adopted = api.objects(mapsPath).get("shop/free")!;
    assert.deepEqual(
      adopted.metadata.ownerReferences?.map(({ name, controller: controls }) => [name, controls]),
      [["ketch", true]],
    );
    api.store(mapsPath, "shop/free", { ...adopted, metadata: { ...adopted.metadata, labels: { boat: "yawl" } } });
    await settle();
    assert.equal(claimed.at(-1), "");
    assert.deepEqual(api.objects(mapsPath).get("shop/free")?.metadata.ownerReferences, []);
    assert.deepEqual([failures, new Set(owners)], [[], new Set([true])]);
  }));

const ketch = {
  apiVersion: "harbour.example.com/v1",
  kind: "Boat",
  name: "ketch",
  uid: "ketch",
  controller: true,
};

/** Returns a chart that the ketch controls. */
const ownChart = (name: string, boat: string) => chart(name, boat, { ownerReferences: [ketch] });

const storeKetch = ({ api }: Harbour, metadata: Partial<ObjectMeta> = {}) =>
  api.store(boatsPath, "shop/ketch", {
    apiVersion: ketch.apiVersion,
    kind: "Boat",
    metadata: { name: "ketch", namespace: "shop", uid: "ketch", ...metadata },
    spec: { length: 9 },
  });

for (const [name, nothing] of [
  ["null", null],
  ["undefined", undefined],
  ["empty", {}],
  ["one of empty parts", { matchLabels: {}, matchExpressions: [] }],
] as const)
  void test(`a selector that is ${name} adopts and releases nothing`, () =>
    inHarbour(async (harbour) => {
      const claimed: string[][] = [];
      const boats = controller(Boat, {
        owns: [ConfigMap],
        selector: () => nothing,
        reconcile: async (_, { claim }) =>
          void claimed.push((await claim(ConfigMap)).map(({ metadata }) => metadata.name)),
      });
      storeKetch(harbour);
      harbour.api.store(mapsPath, "shop/free", chart("free", "ketch"));
      harbour.api.store(mapsPath, "shop/own", ownChart("own", "yawl"));
      const { failures } = await harbour.run([boats]);
      assert.deepEqual([failures, claimed.at(-1), harbour.api.writes], [[], ["own"], []]);
    }));

void test("an owner that is being deleted releases nothing, and keeps what it selects", () =>
  inHarbour(async (harbour) => {
    const claimed: string[][] = [];
    const boats = controller(Boat, {
      owns: [ConfigMap],
      selector,
      includesDeleted: true,
      reconcile: async (_, { claim }) =>
        void claimed.push((await claim(ConfigMap)).map(({ metadata }) => metadata.name)),
    });
    storeKetch(harbour, { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/mooring"] });
    harbour.api.store(mapsPath, "shop/free", chart("free", "ketch"));
    harbour.api.store(mapsPath, "shop/own", ownChart("own", "ketch"));
    harbour.api.store(mapsPath, "shop/strange", ownChart("strange", "yawl"));
    const { failures } = await harbour.run([boats]);
    assert.deepEqual([failures, claimed.at(-1), harbour.api.writes], [[], ["own"], []]);
  }));

void test("objects that have gone or cannot be released do not keep the rest from being claimed", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    const refusals: Readonly<Record<string, Parameters<typeof failure>>> = {
      "free-gone": [404, "NotFound"],
      "free-refused": [403, "Forbidden"],
      "own-gone": [404, "NotFound"],
      "own-invalid": [422, "Invalid"],
    };
    const transport: Transport = {
      request: async (request) => {
        const [, name = ""] = /\/([^/?]*)(?:\?|$)/.exec(request.path) ?? [];
        const refusal = request.method === "PATCH" ? refusals[name] : undefined;
        return refusal === undefined ? api.request(request) : failure(...refusal);
      },
      stream: (...call) => api.stream(...call),
    };
    const claimed: string[][] = [];
    const boats = charts(async (_, { claim }) => {
      claimed.push((await claim(ConfigMap)).map(({ metadata }) => metadata.name));
    });
    storeKetch(harbour);
    for (const name of ["free-gone", "free-refused", "free-z"])
      api.store(mapsPath, `shop/${name}`, chart(name, "ketch"));
    for (const name of ["own-gone", "own-invalid", "own-z"])
      api.store(mapsPath, `shop/${name}`, ownChart(name, "yawl"));
    const { failures } = await harbour.run([boats], { transport });
    assert.deepEqual(api.writes.toSorted(), ["PATCH configmaps free-z", "PATCH configmaps own-z"]);
    assert.match(String(failures[0]), /Forbidden/);
    assert.deepEqual(claimed, []);
    delete (refusals as Record<string, unknown>)["free-refused"];
    await harbour.advance(1000);
    assert.deepEqual(claimed.at(-1), ["free-refused", "free-z"]);
  }));

void test("an owner without a namespace claims objects of all namespaces, and hears of new ones", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    const claimed: string[][] = [];
    const fleets = controller(
      { ...Boat, kind: "Fleet", resource: "fleets", namespaced: false },
      {
        owns: [ConfigMap],
        selector,
        reconcile: async (_, { claim }) => {
          const charted = await claim(ConfigMap);
          claimed.push(charted.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`));
        },
      },
    );
    const fleet = { apiVersion: ketch.apiVersion, kind: "Fleet", metadata: { name: "north" }, spec: { length: 9 } };
    api.store(boatsPath.replace("boats", "fleets"), "north", fleet);
    const { failures } = await harbour.run([fleets]);
    api.store(mapsPath, "shop/one", chart("one", "north"));
    await settle();
    const dock = chart("two", "north");
    api.store(mapsPath, "dock/two", { ...dock, metadata: { ...dock.metadata, namespace: "dock" } });
    await settle();
    assert.deepEqual([failures, claimed.at(-1)?.toSorted()], [[], ["dock/two", "shop/one"]]);
    assert.equal(api.objects(mapsPath).get("dock/two")?.metadata.ownerReferences?.[0]?.name, "north");
  }));

void test("an owner that is being deleted adopts nothing, also when memory does not show its deletion yet", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    let isDeleted = false;
    const claimed: unknown[] = [];
    const boats = charts(async ({ metadata }, { claim }) => {
      if (!isDeleted) return;
      await harbour.delete(metadata.name);
      claimed.push(await claim(ConfigMap));
    });
    harbour.boat("ketch");
    const { failures } = await harbour.run([boats]);
    isDeleted = true;
    api.store(mapsPath, "shop/free", chart("free", "ketch"));
    await settle();
    assert.equal(harbour.find("ketch"), undefined);
    assert.equal(api.objects(mapsPath).get("shop/free")?.metadata.ownerReferences, undefined);
    assert.deepEqual([failures, claimed], [[], [[]]]);
  }));

void test("what was created before is found under its name; a name that somebody else has is an error", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    const found: unknown[] = [];
    const boats = charts(async (_, { create, readOwned, remove }) => {
      if (found.length > 0) return;
      const draft = { metadata: { name: "route", labels: { boat: "ketch" } } };
      const [first, second] = [await create(ConfigMap, draft), await create(ConfigMap, draft)];
      const read = await readOwned(ConfigMap);
      found.push(first.metadata.uid === second.metadata.uid, read.length);
      await create(ConfigMap, { metadata: { name: "shared" } }, { owned: false });
      // Another object of this name is none of ours.
      await remove(ConfigMap, { ...first, metadata: { ...first.metadata, uid: "older" } });
      found.push((await readOwned(ConfigMap)).length);
      await remove(ConfigMap, first);
      await remove(ConfigMap, first);
      found.push((await readOwned(ConfigMap)).length);
      await create(ConfigMap, { metadata: { name: "shared" } });
    });
    api.store(mapsPath, "shop/shared", chart("shared", "yawl"));
    harbour.boat("ketch");
    const { failures } = await harbour.run([boats]);
    assert.deepEqual(found, [true, 1, 1, 0]);
    assert.match(String(failures[0]), /ConfigMap shared exists already, and has another owner/);
  }));

void test("a status is replaced only when it differs, without fields that are undefined", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    const statuses: unknown[] = [];
    const boats = controller(Boat, {
      reconcile: async (_, { replaceStatus }) => {
        statuses.push((await replaceStatus({ afloat: true, conditions: undefined })).status);
        await replaceStatus({ afloat: true, conditions: undefined });
      },
    });
    harbour.boat("ketch");
    const { failures } = await harbour.run([boats]);
    harbour.boat("ketch", { length: 10 });
    await settle();
    assert.deepEqual(failures, []);
    assert.deepEqual(statuses[0], { afloat: true });
    assert.deepEqual(harbour.find("ketch")?.["status"], { afloat: true });
    assert.deepEqual(api.writes, ["PUT boats ketch"]);
  }));

void test("nothing is claimed of a kind that is not in owns, nor without a selector", () =>
  inHarbour(async (harbour) => {
    const reconcile = async (_: Boat, { claim }: ReconcileContext<Boat>) => void (await claim(ConfigMap));
    const boats = [
      controller(Boat, { selector, reconcile }),
      controller(Boat, { name: "plain", owns: [ConfigMap], reconcile }),
    ];
    storeKetch(harbour);
    harbour.api.store(mapsPath, "shop/own", ownChart("own", "yawl"));
    const { failures } = await harbour.run(boats);
    assert.match(String(failures[0]), /controller boat does not have ConfigMap in owns/);
    assert.match(String(failures[1]), /TypeError: controller plain has no selector/);
    assert.deepEqual(harbour.api.writes, []);
  }));

void test("the time of a condition changes only with its status", () => {
  const stated = { type: "Ready", status: "False", reason: "Boarding" };
  const first = setCondition<typeof stated>(undefined, stated, 0);
  const same = setCondition(first, { ...stated, reason: "Waiting" }, 5000);
  const changed = setCondition([...same, { ...stated, type: "Afloat" }], { ...stated, status: "True" }, 5000);
  assert.deepEqual(same, [{ ...stated, reason: "Waiting", lastTransitionTime: "1970-01-01T00:00:00Z" }]);
  assert.deepEqual(changed[0], { ...stated, status: "True", lastTransitionTime: "1970-01-01T00:00:05Z" });
  assert.deepEqual([isConditionTrue(changed, "Ready"), isConditionTrue(changed, "Afloat")], [true, false]);
  assert.equal(isConditionTrue(undefined, "Ready"), false);
});

void test("batches grow up to 32 calls, and end with the first failure", async () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  let running = 0;
  const widths: number[] = [];
  await inBatches(items, async () => {
    running++;
    await settle();
    if (widths.at(-1) !== running) widths.push(running);
    await settle();
    running--;
  });
  assert.equal(Math.max(...widths), 32);
  assert.deepEqual(widths.slice(0, 6), [1, 2, 4, 8, 16, 32]);
  const done: number[] = [];
  const failing = async (item: number): Promise<void> => {
    done.push(item);
    if (item === 4) throw new Error("the pier is full");
  };
  await assert.rejects(inBatches(items, failing), /the pier is full/);
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6]);
});
