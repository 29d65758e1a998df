/** The pause before a process is started again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { RestartPause } from "./restart-pause.ts";

test("the pause grows to ten seconds while a process ends at once, and is short again after a longer life", () => {
  const clock = new FakeClock();
  const pause = new RestartPause(clock);
  const pauses: number[] = [];
  for (let count = 0; count < 9; count++) {
    pause.began();
    clock.advance(1000);
    pauses.push(pause.next());
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  pause.began();
  clock.advance(10_001);
  assert.equal(pause.next(), 100);
});
