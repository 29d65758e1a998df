/** Schedules of cron jobs, their zones and the changes of clocks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchedule } from "./schedule.ts";

const check = (schedule: string, after: string, expected: string | undefined, timeZone?: string): void => {
  const next = parseSchedule(schedule, timeZone)?.(Date.parse(after));
  assert.equal(next === undefined ? undefined : new Date(next).toISOString(), expected, schedule);
};

test("the fields of a schedule are values, ranges, steps and names", () => {
  check("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00.000Z");
  check("*/15 3 * * *", "2026-01-01T03:15:00Z", "2026-01-01T03:30:00.000Z");
  check("5,10-12 0 * * *", "2026-01-01T00:05:30Z", "2026-01-01T00:10:00.000Z");
  check("0 9 * * MON-FRI", "2026-01-02T09:00:00Z", "2026-01-05T09:00:00.000Z");
  check("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z");
  check("30 2 1 jan-mar/2 ?", "2026-01-01T02:30:00Z", "2026-03-01T02:30:00.000Z");
  check("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00.000Z");
});

test("with a day of the month and a weekday, either is enough", () => {
  check("0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00.000Z");
  check("0 0 13 * 5", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00.000Z");
});

test("a schedule that never occurs has no next time", () => {
  check("0 0 30 2 *", "2026-01-01T00:00:00Z", undefined);
  assert.equal(parseSchedule("0 0 *", undefined), undefined);
});

test("a time zone decides, and hours that a change of the clocks skips do not occur", () => {
  check("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00.000Z", "Europe/Berlin");
  check("0 9 * * *", "2026-03-28T12:00:00Z", "2026-03-29T07:00:00.000Z", "Europe/Berlin");
  check("0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T14:00:00.000Z", "America/New_York");
  check("0 0 * * *", "2026-06-01T00:00:00Z", "2026-06-01T18:30:00.000Z", "Asia/Kolkata");
});
