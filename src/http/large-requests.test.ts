/** Which requests leave the event loop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { largeBytes, sizesHere, TooLargeHere, weightOf } from "./large-requests.ts";

const sizes = sizesHere(largeBytes);
const list = (item: string, count: number): Buffer => Buffer.from(`[${`${item},`.repeat(count - 1)}${item}]`);

test("bodies of many objects are handled elsewhere, however short these are", () => {
  assert.throws(() => sizes.check(weightOf(list("{}", 4000))), TooLargeHere);
  assert.throws(() => sizes.check(weightOf(list("{}", 20_000))), TooLargeHere);
});

test("ordinary bodies up to 64 KiB of JSON, or 16 KiB of other forms, are handled on the event loop", () => {
  const ordinary = list(`{"name":"value","more":"${"x".repeat(80)}"}`, 600);
  assert.ok(ordinary.length > 60_000);
  sizes.check(weightOf(ordinary));
  sizes.check(weightOf(ordinary.subarray(0, 16_000), yamlEncoding.weight));
  assert.throws(() => sizes.check(weightOf(ordinary, yamlEncoding.weight)), TooLargeHere);
});
