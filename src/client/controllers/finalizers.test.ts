/** Finalizers, by simulation: a process that stops between any two requests loses nothing that it stands for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { after, controller } from "../controllers.ts";
import { Boat, boatsPath, Harbour, settle, Way } from "./harbour-for-tests.ts";

const mooring = "example.com/mooring";

/** Berths outside of the cluster, which boats take and leave. */
class Berths {
  readonly taken = new Set<string>();
  readonly #harbour: Harbour;

  constructor(harbour: Harbour) {
    this.#harbour = harbour;
  }

  controller() {
    return controller(Boat, {
      finalizer: {
        name: mooring,
        run: ({ metadata }) => {
          this.taken.delete(metadata.name);
        },
      },
      reconcile: async ({ metadata: { name } }, { status }) => {
        assert.ok(this.#harbour.find(name)?.metadata.finalizers?.includes(mooring), "the finalizer is stored first");
        this.taken.add(name);
        await status({ ready: { status: true, reason: "Moored" } });
      },
    });
  }

  /** Fails when a berth is taken by a boat that has gone. */
  check(): void {
    for (const name of this.taken) assert.ok(this.#harbour.find(name) !== undefined, `${name} has gone`);
  }
}

void test("a finalizer is added before the first reconcile, runs at the deletion, and is removed then", async () => {
  const harbour = new Harbour();
  const berths = new Berths(harbour);
  harbour.boat("ketch");
  const present = harbour.find("ketch")!;
  harbour.api.store(boatsPath, "shop/ketch", {
    ...present,
    metadata: { ...present.metadata, finalizers: ["x.com/y"] },
  });
  await harbour.run([berths.controller()]);
  assert.deepEqual([...berths.taken], ["ketch"]);
  assert.deepEqual(harbour.find("ketch")?.metadata.finalizers, ["x.com/y", mooring]);
  await harbour.delete("ketch");
  await settle();
  assert.deepEqual([...berths.taken], []);
  assert.deepEqual(harbour.find("ketch")?.metadata.finalizers, ["x.com/y"], "that of somebody else stays");
  await harbour.close();
});

void test("a finalizer that fails, or is not done, runs again, and the object stays until then", async () => {
  const harbour = new Harbour();
  harbour.boat("ketch");
  let runs = 0;
  const boats = controller(Boat, {
    finalizer: {
      name: mooring,
      run() {
        runs++;
        if (runs === 1) throw new Error("no rope");
        return runs === 2 ? after("1m") : undefined;
      },
    },
    reconcile: () => undefined,
  });
  const { failures } = await harbour.run([boats]);
  await harbour.delete("ketch");
  await harbour.advance(1000);
  assert.deepEqual([runs, failures.length], [2, 1]);
  assert.ok(harbour.find("ketch") !== undefined);
  await harbour.advance(60_000);
  assert.equal(runs, 3);
  assert.equal(harbour.find("ketch"), undefined);
  await harbour.close();
});

void test("an object that is deleted before it has the finalizer is not reconciled", async () => {
  const harbour = new Harbour();
  const berths = new Berths(harbour);
  harbour.boat("ketch");
  const present = harbour.find("ketch")!;
  harbour.api.store(boatsPath, "shop/ketch", {
    ...present,
    metadata: { ...present.metadata, finalizers: ["x.com/y"] },
  });
  await harbour.delete("ketch");
  await harbour.run([berths.controller()]);
  assert.deepEqual([...berths.taken], []);
  assert.deepEqual(harbour.find("ketch")?.metadata.finalizers, ["x.com/y"]);
  await harbour.close();
});

void test("wherever a process stops, each berth is left before its boat goes, and none stays taken", async () => {
  for (const isLastDone of [false, true]) {
    for (let limit = 0; limit < 12; limit++) {
      for (const deletion of ["early", "late"]) {
        const harbour = new Harbour();
        const berths = new Berths(harbour);
        const way = new Way(harbour.api);
        way.limit = limit;
        way.isLastDone = isLastDone;
        harbour.boat("ketch");
        const first = await harbour.run([berths.controller()], { transport: way, grace: 0 });
        berths.check();
        if (deletion === "early") await harbour.delete("ketch");
        await settle();
        berths.check();
        way.isCut = true;
        first.stop();
        await harbour.advance(10_000);
        await first.ended;
        if (deletion === "late") await harbour.delete("ketch");
        berths.check();
        const where = `${limit} requests, ${deletion}, ${isLastDone ? "the last one done" : ""}`;
        await harbour.run([berths.controller()]);
        await harbour.advance(20_000);
        berths.check();
        assert.equal(harbour.find("ketch"), undefined, where);
        assert.deepEqual([...berths.taken], [], where);
        await harbour.close();
      }
    }
  }
});

void test("after any faults and changes by others, every berth belongs to a boat, and deleted boats go", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed);
    const harbour = new Harbour();
    const berths = new Berths(harbour);
    await harbour.run([berths.controller()]);
    for (let step = 0; step < 60; step++) {
      const name = `boat-${Math.floor(random.next() * 4)}`;
      const chance = random.next();
      if (chance < 0.35) harbour.boat(name, { length: step });
      else if (chance < 0.55) await harbour.delete(name);
      else if (chance < 0.65) harbour.api.cut(new Error("connection reset"));
      else if (chance < 0.75) {
        harbour.api.lose = ({ method }) =>
          method !== "GET" && random.next() < 0.5 ? (random.next() < 0.5 ? "before" : "after") : undefined;
      } else if (chance < 0.85) harbour.api.lose = () => undefined;
      if (random.next() < 0.5) await settle();
      if (random.next() < 0.3) await harbour.advance(random.next() * 2000, 500);
      berths.check();
    }
    harbour.api.lose = () => undefined;
    await harbour.advance(60_000, 5000);
    const boats = [...harbour.api.objects(boatsPath).values()];
    assert.ok(
      boats.every(({ metadata }) => metadata.deletionTimestamp === undefined),
      `seed ${seed}: deleted boats have gone`,
    );
    assert.deepEqual(
      [...berths.taken].toSorted(),
      boats.map(({ metadata }) => metadata.name).toSorted(),
      `seed ${seed}`,
    );
    await harbour.close();
  }
});
