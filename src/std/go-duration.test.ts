/** Durations as Go reads and prints them. */
import assert from "node:assert";
import { test } from "node:test";
import { parseGoDuration, printGoDuration } from "./go-duration.ts";

void test("a duration is a row of numbers with units", () => {
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
  for (const [text, ms] of cases) assert.strictEqual(parseGoDuration(text), ms, text);
});

void test("printing gives Go's form, which reads back", () => {
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
    assert.strictEqual(printGoDuration(ms), text);
    assert.strictEqual(parseGoDuration(text), ms);
  }
});
