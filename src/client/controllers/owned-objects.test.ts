/** Objects that belong to an owner by its selector, statuses that are written as a whole, batches of calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { controller, inBatches, isConditionTrue, type ReconcileContext, setCondition } from "../controllers.ts";
import { ConfigMap } from "../kinds.ts";
import { Boat, Harbour, mapsPath, settle } from "./harbour-for-tests.ts";

async function inHarbour(work: (harbour: Harbour) => Promise<void>): Promise<void> {
  const harbour = new Harbour();
  try {
    await work(harbour);
  } finally {
    await harbour.close();
  }
}

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
    const boats = charts(async (boat, { claim, owned }) => {
      const names = (await claim(ConfigMap)).map(({ metadata }) => metadata.name);
      claimed.push(names.join(" "));
      assert.ok(owned(ConfigMap).every(({ metadata }) => metadata.ownerReferences?.[0]?.uid === boat.metadata.uid));
    });
    harbour.boat("ketch");
    const other = { apiVersion: "v1", kind: "Pier", name: "east", uid: "pier", controller: true };
    api.store(mapsPath, "shop/taken", chart("taken", "ketch", { ownerReferences: [other] }));
    api.store(mapsPath, "shop/foreign", chart("foreign", "yawl"));
    await harbour.run([boats]);
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
  }));

void test("an owner that is being deleted adopts nothing, also when memory does not show its deletion yet", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    let isDeleted = false;
    const boats = charts(async ({ metadata }, { claim }) => {
      if (!isDeleted) return;
      await harbour.delete(metadata.name);
      assert.deepEqual(await claim(ConfigMap), []);
    });
    harbour.boat("ketch");
    await harbour.run([boats]);
    isDeleted = true;
    api.store(mapsPath, "shop/free", chart("free", "ketch"));
    await settle();
    assert.equal(harbour.find("ketch"), undefined);
    assert.equal(api.objects(mapsPath).get("shop/free")?.metadata.ownerReferences, undefined);
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
    const boats = controller(Boat, {
      reconcile: async (_, { replaceStatus }) => {
        const { status } = await replaceStatus({ afloat: true, conditions: undefined });
        assert.deepEqual(status, { afloat: true });
        await replaceStatus({ afloat: true, conditions: undefined });
      },
    });
    harbour.boat("ketch");
    const { failures } = await harbour.run([boats]);
    harbour.boat("ketch", { length: 10 });
    await settle();
    assert.deepEqual(failures, []);
    assert.deepEqual(harbour.find("ketch")?.["status"], { afloat: true });
    assert.deepEqual(api.writes, ["PUT boats ketch"]);
  }));

void test("an object that is no kind in owns cannot be claimed", () =>
  inHarbour(async (harbour) => {
    const boats = controller(Boat, { reconcile: async (_, { claim }) => void (await claim(ConfigMap)) });
    harbour.boat("ketch");
    const { failures } = await harbour.run([boats]);
    assert.match(String(failures[0]), /controller boat does not have ConfigMap in owns/);
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

void test("batches grow, and end with the first failure", async () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  let running = 0;
  const widths = new Set<number>();
  const work = async (item: number): Promise<void> => {
    running++;
    await settle();
    widths.add(running);
    if (item === 80) throw new Error("the pier is full");
    running--;
  };
  await inBatches(items.slice(0, 40), work);
  assert.ok(Math.max(...widths) <= 32);
  const done: number[] = [];
  const failing = async (item: number): Promise<void> => {
    done.push(item);
    if (item === 4) throw new Error("the pier is full");
  };
  await assert.rejects(inBatches(items, failing), /the pier is full/);
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6]);
});
