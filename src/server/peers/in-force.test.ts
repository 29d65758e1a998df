/** The time for which a writer waits for other servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { InForce } from "./in-force.ts";
import type { PeerRecord } from "./record.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open() {
  const clock = new FakeClock();
  const records = new Map<string, number>();
  const asked: number[] = [];
  const inForce = new InForce({
    clock,
    // The members that are read.
    others: () => [...records].map(([id, applied]) => ({ id, applied }) as PeerRecord),
    ask: (revision) => asked.push(revision),
  });
  const say = (id: string, applied: number | undefined): void => {
    if (applied === undefined) records.delete(id);
    else records.set(id, applied);
    inForce.changed();
  };
  /** Begins to wait; the result has the names of those who did not say so, once the wait is over. */
  const wait = (revision: number): { late?: readonly string[] } => {
    const result: { late?: readonly string[] } = {};
    void Promise.resolve(inForce.wait(revision)).then((late) => (result.late = late.map(({ id }) => id)));
    return result;
  };
  return { clock, inForce, asked, say, wait };
}

test("a write waits until every server that answers requests has taken it in", async () => {
  const { inForce, say, wait } = open();
  assert.deepEqual(inForce.wait(5), []);
  say("a", 4);
  say("b", 5);
  say("starting", 0);
  const waiting = wait(5);
  await turn();
  assert.equal(waiting.late, undefined);
  say("b", 6);
  await turn();
  assert.equal(waiting.late, undefined);
  say("a", 5);
  await turn();
  assert.deepEqual(waiting.late, []);
  assert.deepEqual(inForce.wait(5), []);
});

test("a server that is gone is not waited for", async () => {
  const { say, wait } = open();
  say("a", 4);
  const waiting = wait(5);
  say("a", undefined);
  await turn();
  assert.deepEqual(waiting.late, []);
});

test("a server that says nothing is asked, given up after 2 seconds, and not waited for until it says more", async () => {
  const { clock, asked, say, wait } = open();
  say("a", 4);
  const first = wait(5);
  clock.advance(1500);
  assert.deepEqual(asked, [5]);
  // All that wait at that time are told the same.
  const second = wait(6);
  clock.advance(499);
  await turn();
  assert.deepEqual([first.late, second.late], [undefined, undefined]);
  clock.advance(1);
  await turn();
  assert.deepEqual([first.late, second.late], [["a"], ["a"]]);
  const third = wait(7);
  await turn();
  assert.deepEqual(third.late, ["a"]);
  // Others are waited for as before.
  say("b", 4);
  const fourth = wait(7);
  await turn();
  assert.equal(fourth.late, undefined);
  say("b", 7);
  await turn();
  assert.deepEqual(fourth.late, ["a"]);
  say("a", 6);
  const fifth = wait(7);
  await turn();
  assert.equal(fifth.late, undefined);
  say("a", 7);
  await turn();
  assert.deepEqual(fifth.late, []);
});

test("what must not go on before all have taken it in waits for silent servers too, for its own time", async () => {
  const { clock, inForce, say, wait } = open();
  say("a", 4);
  const written = wait(5);
  let isOver = false;
  void inForce.waitForAll(5, 60_000).then(() => (isOver = true));
  clock.advance(2000);
  await turn();
  assert.deepEqual([written.late, isOver], [["a"], false]);
  say("a", 5);
  await turn();
  assert.equal(isOver, true);
  isOver = false;
  void inForce.waitForAll(6, 60_000).then(() => (isOver = true));
  clock.advance(59_999);
  await turn();
  assert.equal(isOver, false);
  clock.advance(1);
  await turn();
  assert.equal(isOver, true);
});
