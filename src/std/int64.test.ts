/** Integers beyond 2^53 are compared and counted exactly, and wrap around at 64 bits as in Go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bigIntOf, int64Of, isInt64, nearestNumber } from "./int64.ts";
import { rawNumber } from "./raw-number.ts";

const largest = rawNumber("9223372036854775807");

void test("a number beyond 2^53 keeps its digits, one below is a plain number", () => {
  assert.equal(int64Of(9007199254740991n), 9007199254740991);
  assert.equal(JSON.stringify(int64Of(9007199254740993n)), "9007199254740993");
  assert.equal(bigIntOf(rawNumber("-9007199254740993")), -9007199254740993n);
  assert.equal(bigIntOf(5), 5n);
});

void test("a sum that is too large goes on at the other end", () => {
  assert.equal(JSON.stringify(int64Of(bigIntOf(largest) + 1n)), "-9223372036854775808");
});

void test("the nearest number has the sign and the order", () => {
  assert.ok(nearestNumber(largest) > 2 ** 62 && nearestNumber(rawNumber("-9223372036854775808")) < 0);
  assert.equal(nearestNumber(7), 7);
});

void test("a literal is of 64 bits or not", () => {
  for (const literal of ["0", "-0", "9223372036854775807", "-9223372036854775808"])
    assert.ok(isInt64(literal), literal);
  for (const literal of ["9223372036854775808", "1.0", "1e3", "-9223372036854775809"]) {
    assert.ok(!isInt64(literal), literal);
  }
});
