/** Durations as tables show them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ageOf, humanDuration } from "./human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

test("lengths of time have two units at most, coarser the longer [TABLE-04]", () => {
  const check = (ms: number, text: string) => assert.equal(humanDuration(ms), text);
  check(-2 * second, "<invalid>");
  check(-second, "0s");
  check(0, "0s");
  check(119 * second, "119s");
  check(2 * minute, "2m");
  check(2 * minute + 5 * second, "2m5s");
  check(10 * minute, "10m");
  check(179 * minute, "179m");
  check(3 * hour, "3h");
  check(3 * hour + minute, "3h1m");
  check(8 * hour, "8h");
  check(47 * hour, "47h");
  check(2 * day, "2d");
  check(2 * day + hour, "2d1h");
  check(8 * day, "8d");
  check(2 * year - day, "729d");
  check(2 * year, "2y");
  check(2 * year + day, "2y1d");
  check(8 * year + day, "8y");
});

test("an age without a time is unknown", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.equal(ageOf("2026-01-01T00:00:00Z", now), "60s");
  for (const none of [undefined, null, "", "yesterday"]) assert.equal(ageOf(none, now), "<unknown>");
});
