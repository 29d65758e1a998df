/** Large work pauses, goes on in line with other large work, and fails where it would have failed at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce, inTurns, paced, type Steps, turn } from "./turn.ts";

function* counting(to: number, seen: number[]): Steps<number> {
  for (let i = 1; i <= to; i++) {
    seen.push(i);
    yield;
  }
  return to;
}

test("work runs to its end at once", () => {
  const seen: number[] = [];
  assert.equal(atOnce(counting(3, seen)), 3);
  assert.deepEqual(seen, [1, 2, 3]);
});

test("others have a turn between the steps of work", async () => {
  const seen: number[] = [];
  const done = inTurns(counting(3, seen));
  assert.deepEqual(seen, [1]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(seen.length < 3);
  assert.equal(await done, 3);
});

test("what is not large needs no promise", () => {
  assert.equal(paced(counting(2, []), false), 2);
  assert.ok(paced(counting(2, []), true) instanceof Promise);
});

test("an error ends the work", async () => {
  const failing = function* (): Steps<void> {
    yield;
    throw new Error("no");
  };
  assert.throws(() => atOnce(failing()), /no/);
  await assert.rejects(inTurns(failing()), /no/);
});

test("one of many works goes on in a round of the event loop", async () => {
  let rounds = 0;
  let isCounting = true;
  const count = (): void => {
    rounds++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(Array.from({ length: 10 }, () => turn()));
  isCounting = false;
  assert.ok(rounds >= 9, String(rounds));
});
