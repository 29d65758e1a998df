/** Tests that the system clock waits for the given time, also beyond the timer's limit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

const dayMs = 24 * 3600 * 1000;
const monthMs = 31 * dayMs;

void test("a time longer than a timer of the runtime can be is waited for", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let calls = 0;
  systemClock.after(3 * monthMs, () => calls++);
  for (let days = 1; days <= 3 * 31; days++) {
    assert.equal(calls, 0);
    t.mock.timers.tick(dayMs);
  }
  // The mocked clock is at the end of a tick when the timers of that tick fire.
  t.mock.timers.tick(dayMs);
  assert.equal(calls, 1);
});

void test("it is not done at once, and may be cancelled in any part of it", async (t) => {
  let calls = 0;
  const cancel = systemClock.after(monthMs, () => calls++);
  // A timer of the runtime with a time that is too long fires after 1 ms, which is before these.
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => void systemClock.after(2, resolve));
  cancel();
  assert.equal(calls, 0);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const cancelLater = systemClock.after(monthMs, () => calls++);
  t.mock.timers.tick(30 * dayMs);
  cancelLater();
  t.mock.timers.tick(monthMs);
  assert.equal(calls, 0);
});
