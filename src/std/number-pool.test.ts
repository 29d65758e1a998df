/** Unique numbers and their holders. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NumberPool } from "./number-pool.ts";
import { seededRandom } from "./random.ts";

test("every number is given out once, the lowest last, until there is none", () => {
  const pool = new NumberPool(20, 5);
  const random = seededRandom(1);
  pool.reserve(7);
  const taken = Array.from({ length: 19 }, () => pool.reserveAny(random)!);
  assert.equal(new Set([...taken, 7]).size, 20);
  assert.ok(taken.slice(0, 14).every((number) => number >= 5));
  assert.equal(pool.reserveAny(random), undefined);
});

test("a number is free when its last holder has let it go", () => {
  const pool = new NumberPool(1, 0);
  pool.reserve(0);
  pool.reserve(0);
  pool.release(0);
  assert.ok(pool.isReserved(0));
  pool.release(0);
  assert.equal(pool.reserveAny(seededRandom(1)), 0);
});
