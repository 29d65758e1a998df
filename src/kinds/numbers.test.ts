/** Numbers and percentages, with messages recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { rawNumber } from "#std/raw-number.ts";
import { validateAtMost100Percent, validateNotNegative, validateNumberOrPercent } from "./numbers.ts";

const path = FieldPath.of("n");
const print = (errors: readonly FieldError[]): string[] => errors.map(printFieldError);

test("a number may be zero and no less, however large", () => {
  assert.deepEqual(print(validateNotNegative(0, path)), []);
  assert.deepEqual(print(validateNotNegative(-1, path)), ["n: Invalid value: -1: must be greater than or equal to 0"]);
  assert.deepEqual(print(validateNotNegative(rawNumber("-9223372036854775808"), path)), [
    "n: Invalid value: -9223372036854775808: must be greater than or equal to 0",
  ]);
});

test("a number or percentage is a number, or digits and a percent sign", () => {
  for (const value of [0, 101, "0%", "00101%"]) assert.deepEqual(validateNumberOrPercent(value, path), []);
  assert.deepEqual(print(validateNumberOrPercent(-2, path)), [
    "n: Invalid value: -2: must be greater than or equal to 0",
  ]);
  for (const value of ["", "%", "10", "-5%", "5.5%", "10%%", " 10%", "４%"]) {
    assert.deepEqual(print(validateNumberOrPercent(value, path)), [
      `n: Invalid value: "${value}": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    ]);
  }
});

test("a part is at most all", () => {
  for (const value of [101, "100%", "0100%", "x", "101"]) assert.deepEqual(validateAtMost100Percent(value, path), []);
  for (const value of ["101%", "00101%", "99999999999999999999%"]) {
    assert.deepEqual(print(validateAtMost100Percent(value, path)), [
      `n: Invalid value: "${value}": must not be greater than 100%`,
    ]);
  }
});
