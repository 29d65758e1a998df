/** The clock of test servers: its timers, and the durations that it takes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { durationMs, TestClock } from "./test-clock.ts";

void test("time moves only forward, and fires what is due, in order", () => {
  const clock = new TestClock();
  const startMs = clock.now();
  const fired: string[] = [];
  clock.after(60_000, () => fired.push("minute"));
  clock.after(30_000, () => fired.push("half"));
  clock.after(3_600_000, () => fired.push("hour"));
  const cancel = clock.after(10_000, () => fired.push("cancelled"));
  cancel();
  clock.advance(60_000);
  assert.deepEqual(fired, ["half", "minute"]);
  assert.ok(clock.now() >= startMs + 60_000);
  clock.advance(3_540_000);
  assert.deepEqual(fired, ["half", "minute", "hour"]);
});

void test("timers can be fired early, and the time stays", () => {
  const clock = new TestClock();
  const fired: string[] = [];
  clock.after(50, () => fired.push("soon"));
  clock.after(60_000, () => fired.push("late"));
  assert.ok(clock.hasTimerWithin(50));
  clock.hurry(1000);
  assert.deepEqual(fired, ["soon"]);
  assert.ok(!clock.hasTimerWithin(1000));
  assert.ok(clock.hasTimerWithin(60_000));
});

void test("durations are Go's, or milliseconds", () => {
  assert.equal(durationMs("90s"), 90_000);
  assert.equal(durationMs("1h30m"), 5_400_000);
  assert.equal(durationMs(250), 250);
  for (const wrong of ["1 hour", "", "-1s", -1, Number.NaN]) assert.throws(() => durationMs(wrong), RangeError);
});
