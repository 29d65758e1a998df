/** Addresses that keys hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NumberPool } from "#std/number-pool.ts";
import { KeyedAddresses } from "./keyed-addresses.ts";

const at = (number: number): string => `203.0.113.${number}`;

void test("each key is given another address, the same one again, and none when all are held", () => {
  const pool = new KeyedAddresses("203.0.113.0/29");
  const given = ["a", "b", "a", "c", "d", "e", "f", "g"].map((key) => pool.give(key));
  assert.deepEqual(given, [at(1), at(2), at(1), at(3), at(4), at(5), at(6), undefined]);
  pool.delete("b");
  pool.delete("b");
  assert.deepEqual([pool.give("g"), pool.give("h")], [at(2), undefined]);
});

void test("an address is free when the last of its keys has gone or holds another one", () => {
  const pool = new KeyedAddresses("203.0.113.0/30");
  for (const key of ["a", "b"]) pool.set(key, at(1));
  pool.set("c", at(2));
  pool.delete("a");
  assert.equal(pool.give("d"), undefined);
  pool.set("b", "192.0.2.1");
  assert.equal(pool.give("d"), at(1));
});

void test("an address costs the same work however many are held", (t) => {
  const isReserved = t.mock.method(NumberPool.prototype, "isReserved");
  const workFor = (count: number): number => {
    isReserved.mock.resetCalls();
    const pool = new KeyedAddresses("198.18.0.0/15");
    for (let key = 0; key < count; key++) pool.give(String(key));
    return isReserved.mock.callCount();
  };
  assert.deepEqual([workFor(1000), workFor(4000)], [1000, 4000]);
});

void test("a range that is none is refused", () => {
  assert.throws(() => new KeyedAddresses("203.0.113.0"), TypeError);
});
