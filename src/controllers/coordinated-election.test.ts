/** Coordinated election: the chosen candidate, pings, and writes to the Lease. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "#api/coordination/v1.ts";
import type { LeaseCandidate } from "#api/coordination/v1alpha2.ts";
import { microTimestamp } from "#meta/time.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { coordinatedElectionController } from "./coordinated-election.ts";
import { FakeCluster } from "./fake-cluster.ts";

const candidates = "/apis/coordination.k8s.io/v1alpha2/namespaces/kube-system/leasecandidates";
const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/manager";

class World {
  readonly clock = new FakeClock();
  readonly api = new FakeCluster(this.clock);

  candidate(name: string, emulationVersion: string, more: object = {}): void {
    const spec = {
      leaseName: "manager",
      binaryVersion: "1.32.0",
      emulationVersion,
      strategy: "OldestEmulationVersion",
    };
    const renewTime = microTimestamp(this.clock.now());
    this.api.put(`${candidates}/${name}`, { spec: { ...spec, renewTime, ...more } });
  }

  specOf(name: string): LeaseCandidate["spec"] {
    return (this.api.get(`${candidates}/${name}`) as unknown as LeaseCandidate).spec; // put above
  }

  get lease(): Lease["spec"] | undefined {
    return (this.api.get(lease) as unknown as Lease | undefined)?.spec; // at its path
  }

  async start(): Promise<void> {
    void coordinatedElectionController(this.api.environment);
    await this.api.settled();
  }

  /** Answers for a candidate by a renewal. */
  async answer(name: string): Promise<void> {
    this.candidate(name, this.specOf(name).emulationVersion ?? "", { pingTime: this.specOf(name).pingTime });
    await this.api.settled();
  }
}

test("the candidate that acts as the oldest version gets the lease", async () => {
  const world = new World();
  world.candidate("new", "1.32.0");
  world.candidate("old", "1.31.0");
  await world.start();
  const { holderIdentity, strategy, leaseDurationSeconds } = world.lease ?? {};
  assert.deepEqual([holderIdentity, strategy, leaseDurationSeconds], ["old", "OldestEmulationVersion", 5]);
  world.api.stop();
});

test("candidates of whom nothing was heard are asked; the one that answers is chosen when the others had their time", async () => {
  const world = new World();
  world.candidate("old", "1.31.0");
  world.candidate("new", "1.32.0");
  world.clock.advance(60_000);
  await world.start();
  assert.equal(world.lease?.holderIdentity, undefined);
  assert.notEqual(world.specOf("old").pingTime, undefined);
  await world.api.advance(1000);
  await world.answer("new");
  assert.equal(world.lease?.holderIdentity, undefined);
  await world.api.advance(5000);
  await world.answer("new");
  await world.api.advance(5000);
  assert.equal(world.lease?.holderIdentity, "new");
  world.api.stop();
});

test("candidates that have not renewed for half an hour have no part in elections, and are deleted every half hour", async () => {
  const world = new World();
  const present = () => ["gone", "late", "here"].filter((name) => world.api.get(`${candidates}/${name}`) !== undefined);
  world.candidate("gone", "1.30.0");
  world.clock.advance(31 * 60_000);
  world.candidate("here", "1.32.0");
  await world.start();
  assert.deepEqual(present(), ["here"]);
  world.candidate("late", "1.31.0", { renewTime: microTimestamp(world.clock.now() - 31 * 60_000) });
  await world.api.settled();
  assert.deepEqual([present(), world.lease?.holderIdentity], [["late", "here"], "here"]);
  await world.api.advance(30 * 60_000 - 1000);
  await world.answer("here");
  assert.deepEqual(present(), ["late", "here"]);
  await world.api.advance(1000);
  assert.deepEqual(present(), ["here"]);
  world.api.stop();
});

test("a leader that is not the best is told the preferred one, and keeps the lease until it gives it up", async () => {
  const world = new World();
  world.candidate("new", "1.32.0");
  await world.start();
  assert.equal(world.lease?.holderIdentity, "new");
  world.candidate("old", "1.31.0");
  await world.api.settled();
  assert.deepEqual([world.lease?.holderIdentity, world.lease?.preferredHolder], ["new", "old"]);
  world.api.put(lease, { spec: { ...world.lease, holderIdentity: "" } });
  await world.api.settled();
  assert.deepEqual([world.lease?.holderIdentity, world.lease?.preferredHolder], ["old", undefined]);
  world.api.stop();
});

test("a lease that has run out goes to a candidate that is there", async () => {
  const world = new World();
  world.candidate("old", "1.31.0");
  world.candidate("new", "1.32.0");
  await world.start();
  assert.equal(world.lease?.holderIdentity, "old");
  await world.api.advance(1000);
  world.api.remove(`${candidates}/old`);
  await world.api.advance(5000);
  await world.answer("new");
  await world.api.advance(5000);
  assert.equal(world.lease?.holderIdentity, "new");
  world.api.stop();
});
