/** Controllers over a server in memory: what they write, when they are quiet, how they end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { after, controller, ControllerMetrics, generationChanged, type ReconcileContext } from "../controllers.ts";
import { ConfigMap } from "../kinds.ts";
import { Boat, boatsPath, inHarbour, mapsPath, settle } from "./harbour-for-tests.ts";

/** Makes a chart for a boat, and says that it is ready. */
async function makeChart(boat: Boat, { apply, status }: ReconcileContext<Boat>): Promise<void> {
  await apply(ConfigMap, {
    metadata: { name: `${boat.metadata.name}-chart` },
    data: { length: String(boat.spec.length) },
  });
  await status({ ready: { status: true, reason: "Launched", message: "It floats." } }, { afloat: true });
}

void test("what is applied is owned and follows the object; when nothing changes, nothing is written", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    harbour.boat("ketch");
    let calls = 0;
    const boats = controller(Boat, {
      owns: [ConfigMap],
      async reconcile(boat, context) {
        calls++;
        await makeChart(boat, context);
        return after("1m");
      },
    });
    await harbour.run([boats]);
    const chart = api.objects(mapsPath).get("shop/ketch-chart");
    assert.deepEqual(chart?.["data"], { length: "9" });
    const { uid } = harbour.find("ketch")!.metadata;
    const owner = { apiVersion: "harbour.example.com/v1", kind: "Boat", name: "ketch", uid };
    assert.deepEqual(chart?.metadata.ownerReferences, [{ ...owner, controller: true, blockOwnerDeletion: true }]);
    assert.deepEqual(api.writes, ["PATCH configmaps ketch-chart", "PATCH boats ketch"]);
    const requests: string[] = [];
    api.lose = ({ method, path }) => void requests.push(`${method} ${path}`);
    const before = calls;
    await harbour.advance(10 * 60_000);
    assert.ok(calls >= before + 9, `${calls} calls`);
    assert.deepEqual(requests, [], "a quiet loop sends nothing");
    harbour.boat("ketch", { length: 10 });
    await settle();
    assert.deepEqual(api.objects(mapsPath).get("shop/ketch-chart")?.["data"], { length: "10" });
    assert.deepEqual(api.writes.slice(2).toSorted(), ["PATCH boats ketch", "PATCH configmaps ketch-chart"]);
  }));

void test("what somebody else changes or deletes of an owned object is repaired", () =>
  inHarbour(async (harbour) => {
    const { api } = harbour;
    harbour.boat("ketch");
    await harbour.run([controller(Boat, { owns: [ConfigMap], reconcile: makeChart })]);
    const chart = (): unknown => api.objects(mapsPath).get("shop/ketch-chart")?.["data"];
    api.store(mapsPath, "shop/ketch-chart", undefined);
    await settle();
    assert.deepEqual(chart(), { length: "9" });
    const path = "/api/v1/namespaces/shop/configmaps/ketch-chart?fieldManager=other&force=true";
    const body = Buffer.from(JSON.stringify({ metadata: { name: "ketch-chart" }, data: { length: "1" } }));
    await api.request({ method: "PATCH", path, contentType: "application/apply-patch+yaml", body });
    assert.deepEqual(chart(), { length: "1" });
    await settle();
    assert.deepEqual(chart(), { length: "9" });
  }));

void test("the time of a condition changes only with its status, and the generation is that of the object", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    const stated = { status: false, reason: "Building" };
    const boats = controller(Boat, {
      reconcile: async ({ spec }, { status }) => {
        await status({ ready: { status: spec.length > 9, reason: stated.reason } });
      },
    });
    await harbour.run([boats]);
    const conditions = (): unknown => (harbour.find("ketch")!["status"] as { conditions: unknown }).conditions;
    const first = { type: "Ready", status: "False", reason: "Building", message: "", observedGeneration: 1 };
    const start = "2026-01-01T00:00:00Z";
    assert.deepEqual(conditions(), [{ ...first, lastTransitionTime: start }]);
    await harbour.advance(60_000);
    stated.reason = "Painting";
    harbour.boat("ketch", { length: 8 });
    await settle();
    assert.deepEqual(conditions(), [
      { ...first, reason: "Painting", observedGeneration: 2, lastTransitionTime: start },
    ]);
    harbour.boat("ketch", { length: 10 });
    await settle();
    assert.deepEqual(conditions(), [
      {
        ...first,
        status: "True",
        reason: "Painting",
        observedGeneration: 3,
        lastTransitionTime: "2026-01-01T00:01:00Z",
      },
    ]);
  }));

void test("conditions that are not named stay, and undefined removes one", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    let step = 0;
    const condition = { status: true, reason: "Done" } as const;
    const boats = controller(Boat, {
      async reconcile(_boat, { status }) {
        step++;
        if (step === 1) {
          await status({ ready: condition });
          await status({ painted: condition });
        } else await status({ ready: undefined, named: condition });
      },
    });
    await harbour.run([boats], {});
    await settle();
    const types = (harbour.find("ketch")!["status"] as { conditions: { type: string }[] }).conditions.map(
      ({ type }) => type,
    );
    assert.deepEqual(types, ["Painted", "Named"]);
  }));

void test("an object that another kind names is reconciled when that changes", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    harbour.boat("sloop");
    const seen: string[] = [];
    const boats = controller(Boat, {
      watches: [[ConfigMap, (map) => map.metadata.annotations?.["boat"]]],
      reconcile: ({ metadata }) => void seen.push(metadata.name),
    });
    await harbour.run([boats]);
    seen.length = 0;
    const map = (boat: string) => ({
      metadata: { name: "chart", namespace: "shop", annotations: { boat } },
    });
    harbour.api.store(mapsPath, "shop/chart", map("ketch"));
    await settle();
    assert.deepEqual(seen, ["ketch"]);
    harbour.api.store(mapsPath, "shop/chart", map("sloop"));
    await settle();
    assert.deepEqual(seen.slice(1).toSorted(), ["ketch", "sloop"], "before and after the change");
  }));

void test("predicates keep events away; controllers of one kind share an informer", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    const seen: string[] = [];
    let lists = 0;
    harbour.api.lose = ({ path }) => void (path.includes("/boats") ? lists++ : 0);
    harbour.api.streamsLists = false;
    const all = controller(Boat, { name: "all", reconcile: () => void seen.push("all") });
    const own = controller(Boat, {
      name: "own",
      predicates: [generationChanged],
      reconcile: () => void seen.push("own"),
    });
    await harbour.run([all, own]);
    assert.equal(lists, 1);
    seen.length = 0;
    const boat = harbour.find("ketch")!;
    harbour.api.store(boatsPath, "shop/ketch", { ...boat, status: { afloat: true } });
    await settle();
    assert.deepEqual(seen, ["all"]);
    harbour.boat("ketch", { length: 3 });
    await settle();
    assert.deepEqual(seen.slice(1).toSorted(), ["all", "own"]);
  }));

void test("failures are reported with their object, and tried again after pauses that double", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    const start = harbour.clock.now();
    const times: number[] = [];
    const failures: unknown[] = [];
    const boats = controller(Boat, {
      reconcile() {
        times.push(harbour.clock.now() - start);
        if (times.length < 6) throw new Error("no water");
      },
    });
    const failed = (error: unknown, place: unknown) => failures.push([(error as Error).message, place]);
    await harbour.run([boats], { failed });
    await harbour.advance(400, 5);
    assert.deepEqual(times, [0, 5, 15, 35, 75, 155]);
    assert.deepEqual(failures[0], ["no water", { controller: "boat", key: "shop/ketch" }]);
    assert.equal(failures.length, 5);
  }));

void test("many failing objects together are tried ten times a second", () =>
  inHarbour(async (harbour) => {
    for (let index = 0; index < 150; index++) harbour.boat(`boat-${index}`);
    let calls = 0;
    const boats = controller(Boat, {
      concurrency: 8,
      reconcile() {
        calls++;
        throw new Error("no water");
      },
    });
    await harbour.run([boats]);
    await settle();
    await harbour.advance(20_000, 100);
    const before = calls;
    await harbour.advance(20_000, 100);
    assert.ok(calls - before <= 210 && calls - before >= 150, `${calls - before} calls in 20 s`);
  }));

void test("one object is never reconciled twice at once, and others are at the same time", () =>
  inHarbour(async (harbour) => {
    const running = new Map<string, number>();
    let most = 0;
    const ends: (() => void)[] = [];
    const boats = controller(Boat, {
      concurrency: 2,
      async reconcile({ metadata: { name } }) {
        assert.equal(running.get(name), undefined);
        running.set(name, 1);
        most = Math.max(most, running.size);
        await new Promise<void>((resolve) => ends.push(resolve));
        running.delete(name);
      },
    });
    for (const name of ["a", "b", "c"]) harbour.boat(name);
    const { failures } = await harbour.run([boats]);
    for (let round = 0; round < 10; round++) {
      harbour.boat("a", { length: round });
      await settle();
      for (const end of ends.splice(0)) end();
      await settle();
    }
    assert.equal(most, 2);
    assert.deepEqual(failures, []);
    for (const end of ends) end();
  }));

void test("at the end running work ends, waiting work is dropped, and then the signal is aborted", () =>
  inHarbour(async (harbour) => {
    for (const name of ["a", "b", "c"]) harbour.boat(name);
    const seen: string[] = [];
    let signal: AbortSignal | undefined;
    const boats = controller(Boat, {
      async reconcile({ metadata: { name } }, context) {
        seen.push(name);
        ({ signal } = context);
        await new Promise((_resolve, reject) =>
          signal?.addEventListener("abort", () => reject(signal!.reason as Error)),
        );
      },
    });
    const { stop, ended } = await harbour.run([boats], { grace: "10s" });
    stop();
    await harbour.advance(9000);
    assert.equal(signal?.aborted, false);
    await harbour.advance(2000);
    assert.equal(signal?.aborted, true);
    assert.equal(await ended, undefined);
    assert.deepEqual(seen, ["a"]);
  }));

void test("work that does not end, although its signal is aborted, is named", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    let end = (): void => undefined;
    const boats = controller(Boat, { reconcile: () => new Promise<void>((resolve) => (end = resolve)) });
    const { stop, ended } = await harbour.run([boats], { grace: 1000 });
    stop();
    await harbour.advance(10_000);
    assert.match(String(await ended), /did not end.*: shop\/ketch/);
    end();
  }));

void test("metrics have the names of controller-runtime", () =>
  inHarbour(async (harbour) => {
    harbour.boat("ketch");
    harbour.boat("wreck");
    const metrics = new ControllerMetrics(harbour.clock);
    const boats = controller(Boat, {
      concurrency: 3,
      reconcile({ metadata: { name } }) {
        if (name === "wreck") throw new Error("no water");
        return after("10m");
      },
    });
    await harbour.run([boats], { metrics });
    const lines = metrics.print().split("\n");
    for (const line of [
      'controller_runtime_reconcile_total{controller="boat",result="requeue_after"} 1',
      'controller_runtime_reconcile_total{controller="boat",result="error"} 1',
      'controller_runtime_reconcile_total{controller="boat",result="success"} 0',
      'controller_runtime_reconcile_errors_total{controller="boat"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="boat"} 2',
      'controller_runtime_active_workers{controller="boat"} 0',
      'controller_runtime_max_concurrent_reconciles{controller="boat"} 3',
      'workqueue_adds_total{name="boat"} 2',
      'workqueue_retries_total{name="boat"} 1',
    ]) {
      assert.ok(lines.includes(line), `${line} in ${lines.filter((one) => !one.startsWith("#")).join("\n")}`);
    }
  }));

void test("mistakes in a controller are errors at once", async () => {
  assert.throws(() => controller(Boat, { concurrency: 0, reconcile: () => undefined }), /concurrency/);
  assert.throws(
    () => controller(Boat, { finalizer: { name: "mooring", run: () => undefined }, reconcile: () => undefined }),
    /"mooring" is no name of a finalizer/,
  );
  assert.throws(() => after("soon"), /invalid duration "soon"/);
  const twice = controller(Boat, { reconcile: () => undefined });
  await inHarbour(async (harbour) => {
    const { ended } = await harbour.run([twice, twice]);
    assert.match(String(await ended), /two controllers are called "boat"/);
  });
});
