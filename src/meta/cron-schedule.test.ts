/** Valid schedules, the messages of kube-apiserver 1.32.1 about invalid ones, and times: zones, changes of clocks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cronScheduleError, cronTimes } from "./cron-schedule.ts";

test("five fields hold numbers, names, ranges, steps and lists", () => {
  const schedules = [
    "* * * * *",
    "0-30/5,45 5 31 jan-MAR sun",
    "? 5/10 ? * *",
    "\t1, 2  3 4\u00a05 ",
    "*-5 +5 05 12 6",
  ];
  for (const text of schedules) assert.equal(cronScheduleError(text), undefined, text);
});

test("descriptors stand for schedules, or for an interval", () => {
  const schedules = ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@every 1h30m"];
  for (const text of schedules) assert.equal(cronScheduleError(text), undefined, text);
  assert.equal(cronScheduleError("@Hourly"), "unrecognized descriptor: @Hourly");
  assert.equal(
    cronScheduleError("@every 1d"),
    'failed to parse duration @every 1d: time: unknown unit "d" in duration "1d"',
  );
});

test("a schedule may begin with a time zone", () => {
  assert.equal(cronScheduleError("TZ=Europe/Berlin * * * * *"), undefined);
  assert.equal(cronScheduleError("CRON_TZ=UTC @hourly"), undefined);
  assert.equal(cronScheduleError("TZ=A/B * * * * *"), "provided bad location A/B: unknown time zone A/B");
  assert.equal(cronScheduleError("TZ=UTC"), "expected exactly 5 fields, found 0: []");
});

const wrong: Readonly<Record<string, string>> = {
  "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
  "60 * * * *": "end of range (60) above maximum (59): 60",
  "* * 0 * *": "beginning of range (0) below minimum (1): 0",
  "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
  "1-5-7 * * * *": "too many hyphens: 1-5-7",
  "1/2/3 * * * *": "too many slashes: 1/2/3",
  "*/0 * * * *": "step of range should be a positive number: */0",
  "*/-1 * * * *": "negative number (-1) not allowed: -1",
  "-1 * * * *": 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
  "* * L * *": 'failed to parse int from L: strconv.Atoi: parsing "L": invalid syntax',
  "99999999999999999999 * * * *":
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
};

for (const [text, error] of Object.entries(wrong)) {
  test(`the schedule "${text}" is refused`, () => assert.equal(cronScheduleError(text), error));
}

const check = (schedule: string, after: string, expected: string | undefined, timeZone?: string): void => {
  const next = cronTimes(schedule, { timeZone, startMs: 0 })?.next(Date.parse(after));
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
  check("0 0 */7 * 5", "2026-01-08T00:00:00Z", "2026-01-09T00:00:00.000Z");
  check("0 0 */7 * *", "2026-01-08T00:00:00Z", "2026-01-15T00:00:00.000Z");
});

test("a schedule that never occurs has no next time", () => {
  check("0 0 30 2 *", "2026-01-01T00:00:00Z", undefined);
  assert.equal(cronTimes("0 0 *", { timeZone: undefined, startMs: 0 }), undefined);
});

test("a time zone decides, and hours that a change of the clocks skips do not occur", () => {
  check("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00.000Z", "Europe/Berlin");
  check("0 9 * * *", "2026-03-28T12:00:00Z", "2026-03-29T07:00:00.000Z", "Europe/Berlin");
  check("0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T14:00:00.000Z", "America/New_York");
  check("0 0 * * *", "2026-06-01T00:00:00Z", "2026-06-01T18:30:00.000Z", "Asia/Kolkata");
  check("TZ=America/New_York 0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T14:00:00.000Z", "Asia/Kolkata");
});

/** Compares the first times after one, without seconds, with those that `robfig/cron` v3.0.1 returns. */
const checkTimes = (schedule: string, timeZone: string, after: string, expected: readonly string[]): void => {
  const times = cronTimes(schedule, { timeZone, startMs: 0 })!;
  const found: string[] = [];
  let ms = times.next(Date.parse(after));
  for (; ms !== undefined && found.length < expected.length; ms = times.next(ms)) {
    found.push(new Date(ms).toISOString().replace(":00.000", ""));
  }
  assert.deepEqual(found, expected, `${schedule} in ${timeZone}`);
};

test("hours that a change of the clocks repeats have their runs twice, whether a star or a number names them", () => {
  const zone = "Europe/Berlin";
  const [evening, noon] = ["2026-10-24T23:00Z", "2026-10-24T12:00Z"];
  checkTimes("0 * * * *", zone, evening, ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"]);
  checkTimes("*/30 * * * *", zone, evening, [
    "2026-10-24T23:30Z",
    "2026-10-25T00:00Z",
    "2026-10-25T00:30Z",
    "2026-10-25T01:00Z",
    "2026-10-25T01:30Z",
    "2026-10-25T02:00Z",
  ]);
  checkTimes("30 2 * * *", zone, noon, ["2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-26T01:30Z"]);
  checkTimes("0 3 * * *", zone, noon, ["2026-10-25T02:00Z", "2026-10-26T02:00Z"]);
  checkTimes("30 1 * * *", "America/New_York", "2026-10-31T12:00Z", [
    "2026-11-01T05:30Z",
    "2026-11-01T06:30Z",
    "2026-11-02T06:30Z",
  ]);
});

test("hours that a change of the clocks skips have no runs, and those beside them have theirs once", () => {
  const zone = "Europe/Berlin";
  checkTimes("30 * * * *", zone, "2026-03-29T00:00Z", ["2026-03-29T00:30Z", "2026-03-29T01:30Z", "2026-03-29T02:30Z"]);
  checkTimes("30 2 * * *", zone, "2026-03-28T00:00Z", ["2026-03-28T01:30Z", "2026-03-30T00:30Z"]);
  checkTimes("0 3 * * *", zone, "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T01:00Z"]);
});

test("clocks that change by half an hour repeat and skip half an hour", () => {
  const zone = "Australia/Lord_Howe";
  checkTimes("*/15 * * * *", zone, "2026-04-04T14:30Z", [
    "2026-04-04T14:45Z",
    "2026-04-04T15:00Z",
    "2026-04-04T15:15Z",
    "2026-04-04T15:30Z",
  ]);
  checkTimes("45 1 * * *", zone, "2026-04-04T12:00Z", ["2026-04-04T14:45Z", "2026-04-04T15:15Z", "2026-04-05T15:15Z"]);
  checkTimes("45 2 * * *", zone, "2026-10-03T12:00Z", ["2026-10-03T15:45Z", "2026-10-04T15:45Z"]);
  checkTimes("0 2 * * *", zone, "2026-10-03T12:00Z", ["2026-10-04T15:00Z", "2026-10-05T15:00Z"]);
  // Steps of an hour pass over the full hour after the half one.
  checkTimes("0 2 * * *", zone, "2026-04-04T12:00Z", ["2026-04-05T15:30Z", "2026-04-06T15:30Z"]);
});

test("a day whose midnight does not occur is left out unless the day before is due, too", () => {
  checkTimes("0 9 * * FRI", "Africa/Cairo", "2026-04-23T12:00Z", ["2026-05-01T06:00Z"]);
  checkTimes("0 9 * * *", "Africa/Cairo", "2026-04-23T12:00Z", ["2026-04-24T06:00Z", "2026-04-25T06:00Z"]);
});

test("the search for a time ends, also where a zone has left out a day", () => {
  check("0 0 31 12 *", "2011-12-28T20:00:00Z", undefined, "Pacific/Apia");
  check(", * * * *", "2026-01-01T00:00:00Z", undefined, "Europe/Berlin");
});

test("an interval is counted from the start, in whole seconds", () => {
  const times = cronTimes("@every 1h30m", { timeZone: undefined, startMs: 1000 });
  assert.equal(times?.next(1000), 1000 + 5_400_000);
  assert.equal(times?.next(1000 + 5_400_000), 1000 + 10_800_000);
  assert.equal(cronTimes("@every 10ms", { timeZone: undefined, startMs: 0 })?.next(0), 1000);
});

test("the last time before now is found after a long pause, too", () => {
  const times = cronTimes("*/10 * * * *", { timeZone: undefined, startMs: 0 });
  const now = Date.parse("2026-11-30T08:47:00Z");
  assert.equal(times?.last(Date.parse("2020-01-01T00:00:00Z"), now), Date.parse("2026-11-30T08:40:00Z"));
  assert.equal(times?.last(Date.parse("2026-11-30T08:40:00Z"), now), undefined);
});
