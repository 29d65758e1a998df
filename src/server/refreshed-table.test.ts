/** Reads of what other servers serve, shared by requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { RefreshedTable } from "./refreshed-table.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(isShared: boolean) {
  const clock = new FakeClock();
  const steps: string[] = [];
  const cache = { isShared, fresh: () => void steps.push("fresh") };
  const table = new RefreshedTable({ cache, clock, inStep: () => Promise.resolve(steps.push("in step")) });
  return { clock, steps, table };
}

test("a server that has its store for itself knows everything", () => {
  const { table, steps } = open(false);
  assert.equal(table.refresh(), undefined);
  assert.deepEqual(steps, []);
});

test("requests share a read that begins after they have come, and there are 20 reads a second", async () => {
  const { table, steps, clock } = open(true);
  assert.equal(table.refresh(), table.refresh());
  await table.refresh();
  assert.deepEqual(steps, ["fresh", "in step"]);
  const waiting = table.refresh();
  assert.equal(table.refresh(), waiting);
  clock.advance(49);
  await settle();
  assert.equal(steps.length, 2);
  clock.advance(1);
  await waiting;
  assert.equal(steps.length, 4);
});
