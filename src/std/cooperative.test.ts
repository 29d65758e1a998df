/** Long work pauses when due, and takes turns with other long work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "./fake-clock.ts";
import { Yielder, yieldToEventLoop } from "./cooperative.ts";

test("work is due for a pause after some milliseconds, and not right after one", async () => {
  const clock = new FakeClock();
  const yielder = new Yielder(clock);
  assert.equal(yielder.isDue, false);
  clock.advance(10);
  assert.equal(yielder.isDue, true);
  let others = 0;
  setImmediate(() => others++);
  await yielder.pause();
  assert.equal(others, 1);
  assert.equal(yielder.isDue, false);
});

test("one of many works goes on in a round of the event loop", async () => {
  let rounds = 0;
  let isCounting = true;
  const count = (): void => {
    rounds++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(Array.from({ length: 10 }, () => yieldToEventLoop()));
  isCounting = false;
  assert.ok(rounds >= 9, String(rounds));
});
