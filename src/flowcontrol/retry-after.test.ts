/** The `Retry-After` of refused requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RetryAfter } from "./retry-after.ts";

test("refused clients are told to come back later while refusals keep coming, and sooner once they stop", () => {
  const retry = new RetryAfter();
  const seconds: number[] = [];
  let second = 1000;
  for (; second < 1100; second++) {
    for (let i = 0; i < 200; i++) retry.countRefusal(second);
    if (seconds.at(-1) !== retry.seconds) seconds.push(retry.seconds);
  }
  assert.deepEqual(seconds, [1, 2, 4, 8, 16, 32]);
  for (let quiet = 0; quiet < 40; quiet++) retry.countRefusal((second += 60));
  assert.equal(retry.seconds, 1);
});
