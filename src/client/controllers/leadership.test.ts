/** Controllers under a lease: at most one process works, whatever happens to clocks and connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#std/clock.ts";
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

/** The clock of a machine that sleeps: after it wakes, the time is late, and the timers have not been called yet. */
class SleepyClock implements Clock {
  readonly #clock: FakeClock;
  #sleptMs = 0;

  constructor(startMs: number) {
    this.#clock = new FakeClock(startMs);
  }

  now(): number {
    return this.#clock.now() + this.#sleptMs;
  }

  monotonic(): number {
    return this.now();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs + this.#sleptMs, callback);
  }

  /** Moves the time to that of the world. */
  wake(worldMs: number): void {
    this.#sleptMs = worldMs - this.#clock.now();
  }

  /** Calls the timers that are due. */
  callTimers(): void {
    const ms = this.#sleptMs;
    this.#sleptMs = 0;
    this.#clock.block(ms);
  }
}

/** A process that is started again when it ends. */
class Process {
  readonly identity: string;
  readonly clock: SleepyClock;
  readonly way: Way;
  readonly #harbour: Harbour;
  /** Let reconciles go on that wait for something. */
  readonly #gates: (() => void)[] = [];
  #count = 0;
  #isRunning = false;
  sleepsUntilMs = 0;

  constructor(harbour: Harbour, identity: string) {
    this.identity = identity;
    this.#harbour = harbour;
    this.clock = new SleepyClock(harbour.clock.now());
    this.way = new Way(harbour.api);
  }

  async start(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { identity, way: transport, clock } = this;
    const boats = controller(Boat, {
      reconcile: async (_boat, { apply, queue }) => {
        await new Promise<void>((resolve) => this.#gates.push(resolve));
        await apply(ConfigMap, { metadata: { name: "chart" }, data: { by: identity, count: String(this.#count++) } });
        queue("ketch", 700);
      },
    });
    const { ended } = await this.#harbour.run([boats], { lease, identity, transport, clock });
    void ended.then(() => {
      this.#isRunning = false;
    });
  }

  /** Lets the process work at the present time of the world: what waited for answers goes on first, then timers. */
  async work(): Promise<void> {
    this.clock.wake(this.#harbour.clock.now());
    for (const open of this.#gates.splice(0)) open();
    await settle();
    this.clock.callTimers();
    await settle();
  }
}

/** Returns the holders of the lease that have written, and the number of writes by others. */
function writersOf({ api }: Harbour): { readonly holders: ReadonlySet<string>; readonly strangers: number } {
  const holders = new Set<string>();
  let holder = "";
  let strangers = 0;
  for (const { collection, object } of api.changes) {
    if (collection === leasesPath) holder = (object["spec"] as { holderIdentity: string }).holderIdentity;
    if (collection !== mapsPath) continue;
    const { by } = object["data"] as { by: string };
    holders.add(by);
    if (by !== holder) strangers++;
  }
  return { holders, strangers };
}

/** The machines sleep, and their connections fail, both at any time. */
void test("two processes never write at the same time, in any sequence of partitions and pauses", async () => {
  /** The seeds with which both have led. */
  let changes = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const random = seededRandom(seed);
    const harbour = new Harbour();
    harbour.boat("ketch");
    const processes = ["first", "second"].map((identity) => new Process(harbour, identity));
    for (let step = 0; step < 400; step++) {
      for (const process of processes) {
        await process.start();
        const chance = random.next();
        if (chance < 0.02) process.way.isCut = !process.way.isCut;
        else if (chance < 0.04) process.sleepsUntilMs = harbour.clock.now() + random.next() * 40_000;
        if (process.sleepsUntilMs <= harbour.clock.now()) await process.work();
      }
      harbour.clock.advance(500);
    }
    const { holders, strangers } = writersOf(harbour);
    assert.equal(strangers, 0, `seed ${seed}: ${strangers} writes by a process that did not hold the lease`);
    if (holders.size === 2) changes++;
    await harbour.close(async () => {
      for (const process of processes) await process.work();
    });
  }
  assert.ok(changes >= 4, `in most runs both processes have led: ${changes}`);
});
