/** Valid schedules, and the messages of kube-apiserver 1.32.1 about invalid ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cronScheduleError } from "./cron-schedule.ts";

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
