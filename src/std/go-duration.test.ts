/** Durations as Go reads and prints them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalDuration, formatDuration, parseDuration, parseGoDuration, printGoDuration } from "./go-duration.ts";

test("a duration is a row of numbers with units", () => {
  const cases: readonly [string, number | undefined][] = [
    ["0", 0],
    ["300ms", 300],
    ["1.5h", 5_400_000],
    ["1m0s", 60_000],
    ["2h45m", 9_900_000],
    ["-1s", -1000],
    ["+5s", 5000],
    [".5s", 500],
    ["1us", 0.001],
    ["5", undefined],
    ["", undefined],
    ["s", undefined],
    ["1 s", undefined],
    ["1d", undefined],
    [".s", undefined],
    ["1m-1s", undefined],
    ["1".repeat(100), undefined],
    ["2562047h", 2_562_047 * 3_600_000],
    ["2562048h", undefined],
  ];
  for (const [text, ms] of cases) assert.equal(parseGoDuration(text), ms, text);
});

test("printing gives Go's form, which reads back", () => {
  const cases: readonly [number, string][] = [
    [0, "0s"],
    [20, "20ms"],
    [1500, "1.5s"],
    [60_000, "1m0s"],
    [300_000, "5m0s"],
    [3_600_000, "1h0m0s"],
    [-1000, "-1s"],
  ];
  for (const [ms, text] of cases) {
    assert.equal(printGoDuration(ms), text);
    assert.equal(parseGoDuration(text), ms);
  }
});

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

test("text that is no duration is refused in Go's words", () => {
  for (const text of ["", "x", "-", "s", ".s", "9999999999h"]) {
    assert.equal(parseDuration(text), `time: invalid duration ${JSON.stringify(text)}`, text);
  }
  assert.equal(parseDuration("1"), 'time: missing unit in duration "1"');
  assert.equal(parseDuration("1x"), 'time: unknown unit "x" in duration "1x"');
  assert.equal(parseDuration("1constructor"), 'time: unknown unit "constructor" in duration "1constructor"');
});
