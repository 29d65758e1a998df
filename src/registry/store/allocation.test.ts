/** Attempts of a write to which other servers come first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import type { ResourceDefinition, WriteAttributes } from "../resource-definition.ts";
import { Allocation, TurnQueue } from "./allocation.ts";

const attributes = { subresource: "", dryRun: false } as WriteAttributes; // the hooks below read no more

test("a write takes its values back after each lost turn, pauses ever shorter, and gives up after half a minute", async () => {
  const clock = new FakeClock();
  const reserved = new Set<number>();
  let next = 0;
  const allocate = (object: Unstructured) => {
    const value = ++next;
    reserved.add(value);
    return {
      object: { ...object, value },
      turn: { name: "values", seen: value },
      release: () => reserved.delete(value),
    };
  };
  const definition = { resource: "things", strategy: { allocate } } as unknown as ResourceDefinition; // what is read
  const allocation = new Allocation({ definition, clock, random: seededRandom(1), queue: new TurnQueue() }, attributes);
  const object = { metadata: { name: "a" } };
  const pauses: number[] = [];
  for (let lost = 1; lost < 10; lost++) {
    const allocated = await allocation.allocate(object, undefined);
    assert.equal(allocated["value"], lost);
    assert.deepEqual(allocation.turnOf(allocated), { turn: { name: "values", seen: lost } });
    assert.deepEqual([...reserved], [lost]);
    const start = clock.now();
    const again = allocation.lostTurn();
    assert.equal(reserved.size, 0);
    let isOver = false;
    void again.then(() => (isOver = true));
    while (!isOver) {
      clock.advance(1);
      await Promise.resolve();
    }
    pauses.push(clock.now() - start);
  }
  assert.ok(
    pauses.every((ms, at) => ms <= 3 + 40 / 2 ** at),
    pauses.join(),
  );
  await allocation.allocate(object, undefined);
  clock.advance(30_000);
  await assert.rejects(allocation.lostTurn(), /failed to allocate values of things: other servers were faster/);
  assert.equal(reserved.size, 0);
});

test("a kind whose writes end the turns of others has a turn without values", () => {
  const turn = { name: "values", seen: 5 };
  const definition = { resource: "ranges", strategy: { turn: () => turn } } as unknown as ResourceDefinition; // what is read
  const allocation = new Allocation(
    { definition, clock: new FakeClock(), random: seededRandom(1), queue: new TurnQueue() },
    attributes,
  );
  const object = { metadata: { name: "a" } };
  assert.equal(allocation.allocate(object, undefined), object);
  assert.deepEqual(allocation.turnOf(object), { turn });
});

test("while writes have lost their turn, one after the other tries, new ones last", async () => {
  const clock = new FakeClock();
  const allocate = (given: Unstructured) => ({ object: given, release: () => undefined });
  const definition = { resource: "things", strategy: { allocate } } as unknown as ResourceDefinition; // what is read
  const options = { definition, clock, random: seededRandom(1), queue: new TurnQueue() };
  const object = { metadata: { name: "c" } };
  const writes = ["a", "b"].map((name) => ({ name, allocation: new Allocation(options, attributes) }));
  const again: string[] = [];
  for (const { name, allocation } of writes) void allocation.lostTurn().then(() => again.push(name));
  const late = new Allocation(options, attributes);
  void Promise.resolve(late.allocate(object, undefined)).then(() => again.push("c"));
  const pass = async (): Promise<void> => {
    for (let ms = 0; ms < 60; ms++) {
      clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await pass();
  assert.deepEqual(again, ["a"]);
  writes[0]!.allocation.end();
  await pass();
  assert.deepEqual(again, ["a", "b"]);
  writes[1]!.allocation.end();
  await pass();
  assert.deepEqual(again, ["a", "b", "c"]);
  late.end();
  // Nobody waits any more.
  assert.equal(new Allocation(options, attributes).allocate(object, undefined), object);
});
