/**
 * The garbage collector with late watches, lost requests and arbitrary actions of users: no object with a living owner
 * is deleted, every object without living owners is deleted, and nothing waits for ever. SIM_SEED repeats one run,
 * SIM_SEEDS sets the number of runs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { garbageCollectorController } from "#controllers/garbage-collector.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { OwnerReference } from "#meta/object-meta.ts";
import { seededRandom } from "#std/random.ts";
import { type Dice, JumpingClock, OwnedObjects, noFaults, pathOf, reference, things, worlds } from "./owned-objects.ts";

const seeds =
  process.env["SIM_SEED"] === undefined
    ? Array.from({ length: Number(process.env["SIM_SEEDS"] ?? 1000) }, (_, at) => at + 1)
    : [Number(process.env["SIM_SEED"])];

interface World {
  readonly api: OwnedObjects;
  readonly clock: JumpingClock;
  stop(): Promise<void>;
}

function open(dice: Dice): World {
  const clock = new JumpingClock();
  const api = new OwnedObjects(clock, dice);
  const stop = new AbortController();
  const client = api.client();
  const controller = garbageCollectorController({
    served: { list: () => [things, worlds], onChange: () => undefined },
  });
  const log = { info: () => undefined, warn: () => undefined };
  const running = controller({ client, reader: client, clock, domain: kubernetesDomain, signal: stop.signal, log });
  return {
    api,
    clock,
    async stop() {
      stop.abort();
      await clock.run(60_000);
      await running;
    },
  };
}

const namespaces = ["a", "b", ""];
const hold = "example.com/hold";

/**
 * Acts as a user: creates objects with owners of all kinds, changes their owners, deletes them in every way, and adds
 * finalizers.
 */
function act(api: OwnedObjects, dice: Dice, uids: Map<string, string>): void {
  const somewhere = (): string => pathOf({ namespace: namespaces[dice(3)]!, name: `t${dice(6)}` });
  const path = somewhere();
  const owners = (): OwnerReference[] => {
    const chosen = Array.from({ length: [0, 1, 1, 1, 2, 3][dice(6)]! }, () => {
      // A reference of a cluster-scoped object to a namespaced one is a mistake, which has a test of its own.
      const owner = path.includes("/worlds/") ? pathOf({ name: `t${dice(6)}` }) : somewhere();
      // The uid is that of the present object, of an earlier one, or of another object.
      const now = api.objects.get(owner)?.uid;
      const uid = dice(8) === 0 ? uids.get(somewhere()) : (now ?? uids.get(owner));
      return reference(owner, uid ?? "00000000-0000-4000-9000-000000000000", dice(2) === 0);
    });
    return [...new Map(chosen.map((one) => [one.uid, one])).values()];
  };
  const finalizers = (): string[] => (dice(6) === 0 ? [hold] : []);
  switch (dice(8)) {
    case 0:
    case 1:
    case 2:
    case 3:
      uids.set(path, api.create(path, { ownerReferences: owners(), finalizers: finalizers() }));
      return;
    case 4:
      return api.change(path, { ownerReferences: owners() });
    case 5:
      return release(api, path);
    default:
      return api.delete(path, ["Background", "Background", "Foreground", "Orphan"][dice(4)]!);
  }
}

/** Removes the finalizer of an object. */
function release(api: OwnedObjects, path: string): void {
  const { finalizers = [] } = api.objects.get(path) ?? {};
  if (finalizers.includes(hold)) api.change(path, { finalizers: finalizers.filter((one) => one !== hold) });
}

async function simulate(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const dice: Dice = (bound) => Math.floor(random.next() * bound);
  const { api, clock, stop } = open(dice);
  const faults = { delayMs: 1 + dice(60), lost: dice(10), ended: dice(10) };
  const uids = new Map<string, string>();
  for (let step = 0; step < 15; step++) act(api, dice, uids);
  api.faults = faults;
  for (let step = 0; step < 40; step++) {
    act(api, dice, uids);
    await clock.run(dice(25));
  }
  api.faults = noFaults;
  for (const path of api.objects.keys()) release(api, path);
  await clock.run(600_000);
  assert.deepEqual(api.problems, []);
  for (const [path, object] of api.objects) {
    const { ownerReferences = [], deletionTimestamp } = object;
    assert.equal(deletionTimestamp, undefined, `${path} is still being deleted: ${JSON.stringify(object)}`);
    if (ownerReferences.length > 0)
      assert.ok(api.owners(object).living > 0, `${path} has no owner left: ${JSON.stringify(object)}`);
  }
  await stop();
}

test(`no object with a living owner is lost, and no object without one is left`, async () => {
  for (const seed of seeds) {
    try {
      await simulate(seed);
    } catch (error) {
      throw new Error(`SIM_SEED=${seed}`, { cause: error });
    }
  }
});

const thing = (name: string | number): string => pathOf({ namespace: "a", name: String(name) });
const quiet: Dice = () => 0;

test("a circle of 10,000 goes when one of it is deleted, in the background and in the foreground", async () => {
  for (const policy of ["Background", "Foreground"]) {
    const { api, clock, stop } = open(quiet);
    const length = 10_000;
    for (let at = 0; at < length; at++) api.create(thing(at));
    for (let at = 0; at < length; at++) {
      const owner = thing((at + 1) % length);
      api.change(thing(at), { ownerReferences: [reference(owner, api.objects.get(owner)!.uid!, true)] });
    }
    await clock.run(1000);
    assert.equal(api.objects.size, length, "a circle that is not deleted stays");
    api.delete(thing(0), policy);
    await clock.run(10_000_000);
    assert.equal(api.objects.size, 0, policy);
    await stop();
  }
});

test("100,000 dependents go with their one owner, 10,000 before it, and 10,000 stay without it", async () => {
  for (const [policy, count, left] of [
    ["Background", 100_000, 0],
    ["Foreground", 10_000, 0],
    ["Orphan", 10_000, 10_000],
  ] as const) {
    const { api, clock, stop } = open(quiet);
    const uid = api.create(thing("owner"));
    for (let at = 0; at < count; at++)
      api.create(thing(at), { ownerReferences: [reference(thing("owner"), uid, true)] });
    api.delete(thing("owner"), policy);
    const isDone = (): boolean =>
      api.objects.size === left && api.objects.get(thing(count - 1))?.ownerReferences === undefined;
    // One round of the loop has time for a part of the work.
    for (let rounds = 0; rounds < 10_000 && !isDone(); rounds++) await clock.run(1000);
    assert.equal(api.objects.size, left, policy);
    assert.ok([...api.objects.values()].every(({ ownerReferences }) => ownerReferences === undefined));
    assert.deepEqual(api.problems, []);
    await stop();
  }
});

test("of a reference into another namespace there is an event, for objects of the cluster too, which stay", async () => {
  const { api, clock, stop } = open(quiet);
  await clock.run(1000);
  const far = pathOf({ namespace: "b", name: "far" });
  const uid = api.create(far);
  api.create(thing("child"), { ownerReferences: [reference(far, uid)] });
  const world = pathOf({ name: "w" });
  api.create(world, { ownerReferences: [reference(far, uid)] });
  await clock.run(600_000);
  assert.deepEqual([...api.objects.keys()], [far, world]);
  const owner = (namespace: string): string =>
    `ownerRef [sim.example.com/v1/Thing, namespace: ${namespace}, name: far, uid: ${uid}]`;
  assert.deepEqual(api.events.toSorted(), [
    `${owner("")} does not exist in namespace ""`,
    `${owner("a")} does not exist in namespace "a"`,
  ]);
  await stop();
});
