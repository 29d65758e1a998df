/** Controllers under a lease: at most one process works, whatever happens to clocks and connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { controller, LeadershipLostError } from "../controllers.ts";
import { ConfigMap } from "../kinds.ts";
import { Boat, Harbour, mapsPath, settle, Way } from "./harbour-for-tests.ts";

const lease = "shop/controllers";
const leasesPath = "/apis/coordination.k8s.io/v1/leases";

void test("the second process waits until the first one ends, which finishes its work first", async () => {
  const harbour = new Harbour();
  harbour.boat("ketch");
  const seen: string[] = [];
  let end = (): void => undefined;
  const boatsOf = (process: string) =>
    controller(Boat, {
      async reconcile() {
        seen.push(`${process} begins`);
        if (process === "first") await new Promise<void>((resolve) => (end = resolve));
        seen.push(`${process} ends`);
      },
    });
  const first = await harbour.run([boatsOf("first")], { lease, identity: "first" });
  const second = await harbour.run([boatsOf("second")], { lease, identity: "second" });
  await harbour.advance(60_000);
  assert.deepEqual(seen, ["first begins"]);
  first.stop();
  await harbour.advance(20_000);
  assert.deepEqual(seen, ["first begins"], "the lease is kept while work ends");
  end();
  await harbour.advance(10_000);
  assert.equal(await first.ended, undefined);
  assert.deepEqual(seen, ["first begins", "first ends", "second begins", "second ends"]);
  second.stop();
  await settle();
  assert.equal(await second.ended, undefined);
  const spec = harbour.api.objects(leasesPath).get(lease)?.["spec"] as { holderIdentity: string };
  assert.equal(spec.holderIdentity, "");
  await harbour.close();
});

void test("a process that waits for the lease ends at once", async () => {
  const harbour = new Harbour();
  const none = controller(Boat, { reconcile: () => undefined });
  await harbour.run([none], { lease, identity: "first" });
  const second = await harbour.run([none], { lease, identity: "second" });
  second.stop();
  await settle();
  assert.equal(await second.ended, undefined);
  await harbour.close();
});

void test("a process that loses the lease stops its work, and says so", async () => {
  const harbour = new Harbour();
  harbour.boat("ketch");
  const way = new Way(harbour.api);
  let signal: AbortSignal | undefined;
  const boats = controller(Boat, {
    async reconcile(_boat, context) {
      ({ signal } = context);
      await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal!.reason as Error)));
    },
  });
  const { ended, failures } = await harbour.run([boats], { lease, transport: way });
  assert.equal(signal?.aborted, false);
  way.isCut = true;
  await harbour.advance(11_000);
  assert.equal(signal?.aborted, true);
  await harbour.advance(10_000);
  const error = await ended;
  assert.ok(error instanceof LeadershipLostError);
  assert.match(error.message, /^the lease shop\/controllers was not renewed in time: /);
  assert.ok(failures.length > 0);
  await harbour.close();
});

void test("a lease without a namespace is an error", async () => {
  const harbour = new Harbour();
  const { ended } = await harbour.run([], { lease: "controllers" });
  assert.match(String(await ended), /"controllers" is no lease: write "namespace\/name"/);
});

/**
 * Two processes with clocks of their own, which may stand still for a time as those of suspended machines do, and with
 * connections that fail. A process that ends is started again.
 */
void test("two processes never write at the same time, in any sequence of partitions and pauses", async () => {
  /** The seeds with which both have led. */
  let changes = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const random = seededRandom(seed);
    const harbour = new Harbour();
    harbour.boat("ketch");
    /** The identities of the writers in order. */
    const writers: string[] = [];
    const processes = ["first", "second"].map((identity) => {
      const clock = new FakeClock(harbour.clock.now());
      const way = new Way(harbour.api);
      return { identity, clock, way, pausedMs: 0, isEnded: true };
    });
    let mixed = 0;
    for (let step = 0; step < 400; step++) {
      for (const process of processes) {
        const { identity, clock, way } = process;
        if (process.isEnded) {
          process.isEnded = false;
          let count = 0;
          const boats = controller(Boat, {
            async reconcile(_boat, { apply, queue }) {
              await apply(ConfigMap, { metadata: { name: "chart" }, data: { by: identity, count: String(count++) } });
              writers.push(identity);
              queue("ketch", 700);
            },
          });
          const running = await harbour.run([boats], { lease, identity, transport: way, clock });
          void running.ended.then(() => (process.isEnded = true));
        }
        const chance = random.next();
        if (chance < 0.02) way.isCut = !way.isCut;
        else if (chance < 0.03) process.pausedMs = random.next() * 40_000;
        // The machine was suspended: its timers are late.
        if (process.pausedMs > 0) process.pausedMs -= 500;
        else clock.block(clock.now() < harbour.clock.now() ? harbour.clock.now() - clock.now() : 500);
      }
      harbour.clock.advance(500);
      await settle();
    }
    // A change of the writer needs a change of the lease in between.
    const byLease = harbour.api.changes.filter(
      ({ collection }) => collection === leasesPath || collection === mapsPath,
    );
    let holder = "";
    for (const { collection, object } of byLease) {
      if (collection === leasesPath) holder = (object["spec"] as { holderIdentity: string }).holderIdentity;
      else if ((object["data"] as { by: string }).by !== holder) mixed++;
    }
    assert.equal(mixed, 0, `seed ${seed}: ${mixed} writes by a process that did not hold the lease`);
    if (new Set(writers).size === 2) changes++;
    await harbour.close();
  }
  assert.ok(changes >= 6, "in most runs both processes have led");
});
