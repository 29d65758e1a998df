/** The system clock waits as long as it is told, also beyond the timer's limit. */
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
  // The clock of the test stands at the end of a tick when what is due in it goes off.
  t.mock.timers.tick(dayMs);
  assert.equal(calls, 1);
});

void test("it is not done at once, and may be cancelled in any part of it", async (t) => {
  let calls = 0;
  const cancel = systemClock.after(monthMs, () => calls++);
  // A timer of the runtime that is told a time too long for it goes off after 1 ms: before these.
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
