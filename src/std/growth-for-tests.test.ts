/** Tests the measurement of growth: proportional work passes, and quadratic work does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion, largestPiece } from "./growth-for-tests.ts";
import { yieldToEventLoop } from "./cooperative.ts";

/** Does `count` steps that the compiler cannot remove. */
function steps(count: number): number {
  let state = 1;
  for (let i = 0; i < count; i++) state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1;
  return state;
}

test("work in proportion to its input passes, and so does work that stays the same", async () => {
  await growsInProportion(300_000, steps);
  await growsInProportion(100, (size) => steps(size * 1000));
  await growsInProportion(10, () => steps(1000));
  await growsInProportion(100, async (size) => {
    await yieldToEventLoop();
    steps(size * 1000);
  });
});

test("quadratic work fails, waited for or not", async () => {
  const message = /^twice the input takes \d+\.\d(, \d+\.\d)+ times the CPU$/;
  await assert.rejects(
    growsInProportion(2000, (size) => steps(size * size)),
    { message },
  );
  await assert.rejects(
    growsInProportion(2000, async (size) => {
      await yieldToEventLoop();
      steps(size * size);
    }),
    { message },
  );
});

test("work that gives others turns has small pieces, and work that does not is one piece", async () => {
  const pause = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      steps(2_000_000);
      await yieldToEventLoop();
    }
  };
  const whole = async (): Promise<void> => {
    await yieldToEventLoop();
    steps(40_000_000);
    await yieldToEventLoop();
  };
  assert.ok((await largestPiece(pause)) < 1 / 3);
  assert.ok((await largestPiece(whole)) > 1 / 2);
});
