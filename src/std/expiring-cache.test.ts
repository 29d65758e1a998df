/** Values that count for a while. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ExpiringCache } from "./expiring-cache.ts";

test("a value counts until its time", () => {
  const cache = new ExpiringCache<string>(2);
  cache.set("a", "x", 10);
  assert.deepEqual([cache.get("a", 9), cache.get("a", 10), cache.get("b", 0)], ["x", undefined, undefined]);
});

test("what is used stays, what is not goes when others come", () => {
  const cache = new ExpiringCache<string>(2);
  for (const key of ["used", "idle", "c"]) cache.set(key, key, 10);
  assert.equal(cache.get("used", 0), "used");
  for (const key of ["d", "e"]) cache.set(key, key, 10);
  assert.deepEqual([cache.get("used", 0), cache.get("idle", 0)], ["used", undefined]);
});
