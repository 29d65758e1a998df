/** Tests the expected cost of an expression whose evaluations differ in cost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expectedAfter } from "./expected-cost.ts";

test("a costly evaluation is expected again, for a while that cheap ones make shorter", () => {
  let expected = expectedAfter(1000);
  assert.equal(expected, 1000);
  expected = expectedAfter(1, expected);
  assert.ok(expected > 500 && expected < 1000, String(expected));
  for (let i = 0; i < 100; i++) expected = expectedAfter(1, expected);
  assert.equal(expected, 1);
  assert.equal(expectedAfter(2000, expected), 2000);
});
