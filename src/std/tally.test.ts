/** Amounts by key. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tally } from "./tally.ts";

test("amounts add up by key, and a key whose amount is gone takes no room", () => {
  const tally = new Tally();
  tally.add("a", 2);
  tally.add("a", 3);
  tally.add("b", 1);
  assert.deepEqual([tally.of("a"), tally.of("b"), tally.of("c"), tally.size], [5, 1, 0, 2]);
  tally.add("a", -5);
  assert.deepEqual([tally.of("a"), tally.size], [0, 1]);
});
