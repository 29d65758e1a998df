/** Durations as Go reads and writes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalDuration, formatDuration, parseDuration } from "./duration.ts";

test("durations come back in Go's form", () => {
  const forms = {
    "90m": "1h30m0s",
    "1.5s": "1.5s",
    "0": "0s",
    "-1h": "-1h0m0s",
    "1000ns": "1\u00b5s",
    "1us": "1\u00b5s",
    ".5h": "30m0s",
    "1h1ns": "1h0m0.000000001s",
    "1500ms": "1.5s",
    "2562047h47m16.854775807s": "2562047h47m16.854775807s",
  };
  for (const [text, form] of Object.entries(forms)) assert.equal(canonicalDuration(text), form, text);
  assert.equal(formatDuration(-1n << 63n), "-2562047h47m16.854775808s");
});

test("what is no duration is refused in Go's words", () => {
  for (const text of ["", "x", "-", "s", ".s", "9999999999h"]) {
    assert.equal(parseDuration(text), `time: invalid duration ${JSON.stringify(text)}`, text);
  }
  assert.equal(parseDuration("1"), 'time: missing unit in duration "1"');
  assert.equal(parseDuration("1x"), 'time: unknown unit "x" in duration "1x"');
  assert.equal(parseDuration("1constructor"), 'time: unknown unit "constructor" in duration "1constructor"');
});
