/** Values that are valid for a limited time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ExpiringCache } from "./expiring-cache.ts";

test("a value counts until its time", () => {
  const cache = new ExpiringCache<string>(2);
  cache.set("a", "x", 10);
  assert.deepEqual([cache.get("a", 9), cache.get("a", 10), cache.get("b", 0)], ["x", undefined, undefined]);
});

test("used values stay, unused ones go when others come", () => {
  const cache = new ExpiringCache<string>(2);
  for (const key of ["used", "idle", "c"]) cache.set(key, key, 10);
  assert.equal(cache.get("used", 0), "used");
  for (const key of ["d", "e"]) cache.set(key, key, 10);
  assert.deepEqual([cache.get("used", 0), cache.get("idle", 0)], ["used", undefined]);
});

test("a flood leaves at most two generations, and used values stay", () => {
  const cache = new ExpiringCache<number>(10);
  cache.set("used", -1);
  for (let i = 0; i < 1000; i++) {
    cache.set(`bad ${i}`, i);
    if (i % 5 === 0) assert.equal(cache.get("used"), -1, `after ${i}`);
  }
  const left = Array.from({ length: 1000 }, (_, i) => cache.get(`bad ${i}`)).filter((value) => value !== undefined);
  assert.ok(left.length <= 20, `${left.length} left`);
});
