/**
 * Two servers elect a leader over one store, in virtual time: requests are lost before and after they take effect,
 * answers are late, wall clocks jump, processes freeze. There is never more than one leader, and there is one soon.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { electLeader, withLeaseGuard, type Term } from "#client/leader-election.ts";
import { RestClient } from "#client/rest-client.ts";
import type { Transport } from "#client/transport.ts";
import { FakeCluster } from "#controllers/fake-cluster.ts";
import type { Clock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };
const apiVersion = "coordination.k8s.io/v1";
const namespace = "kube-system";
const lease = `/apis/${apiVersion}/namespaces/${namespace}/leases/controllers`;

/** A server with a clock of its own, and a connection to the store that may fail. */
class Server {
  readonly identity: string;
  /** The faults of its requests: the two probabilities are from 0 to 1. */
  faults = { lost: 0, answerLost: 0, lateMs: 0 };
  /** The error of its wall clock in milliseconds. */
  aheadMs = 0;
  /** The time until which the process is frozen. Timers that become due meanwhile fire later. */
  frozenUntilMs = 0;
  term: Term | undefined;
  terms = 0;
  /** The number of writes of this server as the leader. */
  writes = 0;
  readonly stop = new AbortController();
  readonly #base: FakeClock;
  readonly #api: FakeCluster;
  readonly #random: Random;

  constructor(identity: string, base: FakeClock, api: FakeCluster, random: Random) {
    this.identity = identity;
    this.#base = base;
    this.#api = api;
    this.#random = random;
  }

  get #clock(): Clock {
    const base = this.#base;
    const later = (delayMs: number, callback: () => void): (() => void) => {
      let cancel = base.after(delayMs, () => {
        const frozenMs = this.frozenUntilMs - base.monotonic();
        if (frozenMs <= 0) callback();
        else cancel = base.after(frozenMs, callback);
      });
      return () => cancel();
    };
    return { now: () => base.now() + this.aheadMs, monotonic: () => base.monotonic(), after: later };
  }

  get transport(): Transport {
    const wait = (): Promise<void> => {
      const ms = this.faults.lateMs * this.#random.next();
      return ms === 0 ? Promise.resolve() : new Promise((resolve) => this.#clock.after(ms, resolve));
    };
    return {
      request: async (request) => {
        await wait();
        request.signal?.throwIfAborted();
        if (this.#random.next() < this.faults.lost) throw new Error("the request is lost");
        const answer = await this.#api.transport.request(request);
        await wait();
        if (this.#random.next() < this.faults.answerLost) throw new Error("the answer is lost");
        return answer;
      },
      stream: () => Promise.reject(new Error("nobody watches")),
    };
  }

  start(): Promise<void> {
    const clock = this.#clock;
    return electLeader({
      client: new RestClient(this.transport),
      apiVersion,
      namespace,
      name: "controllers",
      identity: this.identity,
      times,
      clock,
      random: this.#random,
      signal: this.stop.signal,
      failed: () => undefined,
      lead: async (term) => {
        this.term = term;
        this.terms++;
        await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));
        this.term = undefined;
      },
    });
  }

  get hasFaults(): boolean {
    return Object.values(this.faults).some((fault) => fault > 0);
  }

  get leads(): boolean {
    return this.term?.isHeld() === true;
  }

  /**
   * Writes as a controller would, if it may. The request takes `insideMs` in the server before it is stored. Returns
   * whether it was stored.
   */
  async write(insideMs = 0): Promise<boolean> {
    if (this.term === undefined) return false;
    const request: Transport["request"] = async (sent) => {
      if (insideMs > 0) await new Promise<void>((resolve) => this.#base.after(insideMs, resolve));
      const held = await sent.lease?.();
      const { resourceVersion } = this.#api.get(lease)?.metadata ?? {};
      if (held?.resourceVersion !== resourceVersion) throw new Error("the writer no longer leads");
      return this.#api.transport.request(sent);
    };
    const client = withLeaseGuard({ ...this.transport, request }, this.term);
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    try {
      await client.create(path, { metadata: { generateName: `${this.identity}-` } });
      this.writes++;
      return true;
    } catch {
      // The server is no longer the leader.
      return false;
    }
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class World {
  readonly clock = new FakeClock();
  readonly api = new FakeCluster(this.clock);
  readonly random: Random;
  readonly servers: readonly Server[];

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.servers = ["a", "b"].map((name) => new Server(name, this.clock, this.api, this.random));
    for (const server of this.servers) void server.start();
  }

  get leaders(): readonly string[] {
    return this.servers.filter(({ leads }) => leads).map(({ identity }) => identity);
  }

  /**
   * Advances in steps. After each step there is at most one leader, and only this one can write. It can as long as its
   * renewals are answered.
   */
  async pass(ms: number, stepMs = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await turns();
      assert.ok(this.leaders.length <= 1, `leaders: ${this.leaders.join(", ")}`);
      const before = this.servers.map(({ writes }) => writes);
      await Promise.all(this.servers.map((server) => server.write()));
      const wrote = this.servers.filter(({ writes }, at) => writes > before[at]!);
      for (const { identity } of wrote) assert.deepEqual([identity], this.leaders);
      if (this.servers.every(({ hasFaults }) => !hasFaults)) assert.equal(wrote.length, this.leaders.length);
    }
  }

  close(): void {
    for (const { stop } of this.servers) stop.abort();
  }
}

const specOf = (api: FakeCluster): { holderIdentity?: string; leaseTransitions?: number } =>
  (api.get(lease) as unknown as { spec: object }).spec; // as candidates write it

test("one server leads, renews its lease, and gives it up when it stops; then the other leads at once", async () => {
  const world = new World(1);
  await world.pass(60_000);
  const [first] = world.servers.filter(({ leads }) => leads);
  assert.ok(first !== undefined);
  assert.deepEqual([specOf(world.api).holderIdentity, specOf(world.api).leaseTransitions], [first.identity, 0]);
  first.stop.abort();
  await world.pass(5000);
  const [second] = world.servers.filter(({ leads }) => leads);
  assert.notEqual(second?.identity, first.identity);
  assert.equal(first.terms, 1);
  world.close();
});

test("a leader without a connection stops before another can lead, which does so when the lease has run out", async () => {
  const world = new World(2);
  await world.pass(10_000);
  const [leader] = world.servers.filter(({ leads }) => leads);
  leader!.faults = { lost: 1, answerLost: 0, lateMs: 0 };
  await world.pass(10_000);
  assert.deepEqual(world.leaders, []);
  await world.pass(10_000);
  assert.equal(world.leaders.length, 1);
  assert.notEqual(world.leaders[0], leader!.identity);
  world.close();
});

test("a leader whose machine slept, so that only its wall clock went on, makes no write before it has renewed", async () => {
  const world = new World(3);
  await world.pass(10_000);
  const [leader] = world.servers.filter(({ leads }) => leads);
  leader!.aheadMs = 60_000;
  assert.notEqual(leader!.term, undefined);
  const { writes } = leader!;
  await leader!.write();
  assert.equal(leader!.writes, writes);
  await world.pass(5000);
  assert.deepEqual(world.leaders, [leader!.identity]);
  world.close();
});

test("a request of a leader that was in the server already is not stored when another may lead", async () => {
  const world = new World(4);
  await world.pass(10_000);
  const [leader] = world.servers.filter(({ leads }) => leads);
  const soon = leader!.write(3000);
  await world.pass(4000);
  assert.equal(await soon, true);
  leader!.frozenUntilMs = world.clock.monotonic() + 60_000;
  const late = leader!.write(30_000);
  await world.pass(40_000);
  assert.equal(await late, false);
  // The signal of its term could not fire, since the process was frozen.
  assert.notEqual(leader!.term, undefined);
  assert.equal(world.leaders.length, 1);
  world.close();
});

test("a candidate that is stopped while it is elected does not lead, and gives the lease up", async () => {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const server = new Server("a", clock, api, seededRandom(5));
  server.faults = { lost: 0, answerLost: 0, lateMs: 1000 };
  let hasEnded = false;
  void server.start().then(() => (hasEnded = true));
  while (api.get(lease) === undefined) {
    clock.advance(10);
    await turns();
  }
  server.stop.abort();
  for (let step = 0; step < 20; step++) {
    clock.advance(1000);
    await turns();
  }
  assert.deepEqual([hasEnded, server.terms, specOf(api).holderIdentity], [true, 0, ""]);
});

test("a leader that stood still for long makes no write when it wakes up", async () => {
  const world = new World(3);
  await world.pass(10_000);
  const [leader] = world.servers.filter(({ leads }) => leads);
  leader!.frozenUntilMs = world.clock.monotonic() + 40_000;
  await world.pass(30_000);
  assert.equal(world.leaders.length, 1);
  // Its timers have not fired, but it may not write.
  assert.notEqual(leader!.term, undefined);
  assert.equal(leader!.leads, false);
  await world.pass(30_000);
  world.close();
});

test("whatever messages are lost, late or wrong, there is at most one leader, and soon one when the faults end", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = new World(seed);
    for (let round = 0; round < 6; round++) {
      for (const server of world.servers) {
        const chance = (): number => (world.random.next() < 0.4 ? world.random.next() : 0);
        server.faults = { lost: chance(), answerLost: chance(), lateMs: chance() * 8000 };
        if (world.random.next() < 0.3) server.aheadMs = (world.random.next() - 0.5) * 7_200_000;
        if (world.random.next() < 0.2) server.frozenUntilMs = world.clock.monotonic() + world.random.next() * 30_000;
      }
      await world.pass(20_000);
    }
    for (const server of world.servers) server.faults = { lost: 0, answerLost: 0, lateMs: 0 };
    await world.pass(60_000, 1000);
    assert.equal(world.leaders.length, 1, `seed ${seed}`);
    world.close();
  }
});
