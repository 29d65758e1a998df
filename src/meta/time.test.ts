/** Times compared with the reference server and with JavaScript's calendar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import {
  canonicalTime,
  formatTime,
  leadingSeconds,
  parseTime,
  timestampOf,
  Timestamps,
  timeToMs,
  type TimeForm,
} from "./time.ts";

/** Input, its form, and recorded answer; `ERR` precedes the text of an error. */
const recorded: readonly (readonly [string, TimeForm, string | null])[] = [
  [
    "1999712-31T23:59:59.99999999,+05:30",
    "seconds",
    'ERR parsing time "1999712-31T23:59:59.99999999,+05:30" as "2006-01-02T15:04:05Z07:00": cannot parse "712-31T23:59:59.99999999,+05:30" as "-"',
  ],
  [
    "62020-02-29T12:34:56Z",
    "seconds",
    'ERR parsing time "62020-02-29T12:34:56Z" as "2006-01-02T15:04:05Z07:00": cannot parse "0-02-29T12:34:56Z" as "-"',
  ],
  ["0000-02-29T00:00:00Z", "seconds", "0000-02-29T00:00:00Z"],
  [
    "2020-01-01T00:0.:00.123456Z",
    "micro",
    'ERR parsing time "2020-01-01T00:0.:00.123456Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "0.:00.123456Z" as "04"',
  ],
  [
    "2400-03-01T00:00:070-11:45",
    "micro",
    'ERR parsing time "2400-03-01T00:00:070-11:45" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "0-11:45" as ".000000"',
  ],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["1999-12-31T23:59:59.999999999+05:30", "seconds", "1999-12-31T18:29:59Z"],
  ["2020-01-01T00:00:00.123456Z", "seconds", "2020-01-01T00:00:00Z"],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["0000-02-29T00:00:00Z", "seconds", "0000-02-29T00:00:00Z"],
  ["1999-12-31T23:59:59.99999999+05:30", "seconds", "1999-12-31T18:29:59Z"],
  ["2400-03-01T00:08:00-11:40", "seconds", "2400-03-01T11:48:00Z"],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["2400-23-01T00:00:00-11:45", "seconds", 'ERR parsing time "2400-23-01T00:00:00-11:45": month out of range'],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["2020-91-01T00:00:00.123456Z", "micro", 'ERR parsing time "2020-91-01T00:00:00.123456Z": month out of range'],
  ["2020-01-01T00:00:00.123456Z", "micro", "2020-01-01T00:00:00.123456Z"],
  ["2021-02-29T12:34:56Z", "seconds", 'ERR parsing time "2021-02-29T12:34:56Z": day out of range'],
  ["0001-01-01T00:00:90Z", "seconds", 'ERR parsing time "0001-01-01T00:00:90Z": second out of range'],
  ["9999-12-33T21:59:59-01:00", "seconds", 'ERR parsing time "9999-12-33T21:59:59-01:00": day out of range'],
  ["0000-62-29T00:00:00Z", "seconds", 'ERR parsing time "0000-62-29T00:00:00Z": month out of range'],
  ["9999-12-31T23:59:869-01:00", "seconds", 'ERR parsing time "9999-12-31T23:59:869-01:00": second out of range'],
  ["2020-01-01T00:00:70.8123456Z", "micro", 'ERR parsing time "2020-01-01T00:00:70.8123456Z": second out of range'],
  ["2020-01-01T50:00:00.123456Z", "seconds", 'ERR parsing time "2020-01-01T50:00:00.123456Z": hour out of range'],
  [
    "1999-12-31T23:99:59.999999999+05:30",
    "seconds",
    'ERR parsing time "1999-12-31T23:99:59.999999999+05:30": minute out of range',
  ],
  ["2020-01-01T00:00:80.123456Z", "micro", 'ERR parsing time "2020-01-01T00:00:80.123456Z": second out of range'],
  [
    "1999-12-31T23:99:59.9999-9999+05:30",
    "seconds",
    'ERR parsing time "1999-12-31T23:99:59.9999-9999+05:30": minute out of range',
  ],
  ["0000-402-29T00:80:00Z", "micro", 'ERR parsing time "0000-402-29T00:80:00Z": month out of range'],
  ["2020-01-01T90:00:00.123456Z", "micro", 'ERR parsing time "2020-01-01T90:00:00.123456Z": hour out of range'],
  ["0000-02-29T50:90:00Z", "seconds", 'ERR parsing time "0000-02-29T50:90:00Z": hour out of range'],
  ["2020-02-29T912:34:56Z", "micro", 'ERR parsing time "2020-02-29T912:34:56Z": hour out of range'],
  [
    "2400-03-01T00:00:00-36:45",
    "seconds",
    'ERR parsing time "2400-03-01T00:00:00-36:45": time zone offset hour out of range',
  ],
  ["0000-02-29T00:80-:00Z", "micro", 'ERR parsing time "0000-02-29T00:80-:00Z": minute out of range'],
  [
    "1999-12-31T23:59:59.999999999+05:340",
    "seconds",
    'ERR parsing time "1999-12-31T23:59:59.999999999+05:340": extra text: "0"',
  ],
  ["9999-12-31T23:59:59-01:060", "seconds", 'ERR parsing time "9999-12-31T23:59:59-01:060": extra text: "0"'],
  [
    "1999-12-31T23:59:59.999999999+75:30",
    "seconds",
    'ERR parsing time "1999-12-31T23:59:59.999999999+75:30": time zone offset hour out of range',
  ],
  ["2020-01-01T00:900:00.1234356Z", "micro", 'ERR parsing time "2020-01-01T00:900:00.1234356Z": minute out of range'],
  ["2020-01-51T00:00:00.123456Z", "micro", 'ERR parsing time "2020-01-51T00:00:00.123456Z": day out of range'],
  ["2020-01-00T00:00:00.123456Z", "micro", 'ERR parsing time "2020-01-00T00:00:00.123456Z": day out of range'],
  [
    "2020-01-01t00:00:00z",
    "seconds",
    'ERR parsing time "2020-01-01t00:00:00z" as "2006-01-02T15:04:05Z07:00": cannot parse "t00:00:00z" as "T"',
  ],
  ["2020-01-01T24:00:00Z", "seconds", 'ERR parsing time "2020-01-01T24:00:00Z": hour out of range'],
  ["2020-01-01T00:00:60Z", "seconds", 'ERR parsing time "2020-01-01T00:00:60Z": second out of range'],
  [
    "2020-01-01T00:00:00+25:00",
    "seconds",
    'ERR parsing time "2020-01-01T00:00:00+25:00": time zone offset hour out of range',
  ],
  [
    "2020-01-01T00:00:00Z",
    "micro",
    'ERR parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
  ],
  [
    'x\u00e9"y',
    "seconds",
    'ERR parsing time "x\\xc3\\xa9\\"y" as "2006-01-02T15:04:05Z07:00": cannot parse "x\\xc3\\xa9\\"y" as "2006"',
  ],
];

test("times come back in the form upstream gives them, or with its error", () => {
  for (const [sent, form, answer] of recorded) {
    const error = parseTime(sent, form);
    assert.equal(canonicalTime(sent, form) ?? (typeof error === "string" ? `ERR ${error}` : null), answer, sent);
  }
});

test("a canonical time is returned as it is", () => {
  for (const text of ["2020-02-29T12:34:56Z", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z"]) {
    assert.equal(canonicalTime(text), text);
  }
  assert.equal(canonicalTime("0001-01-01T00:00:00Z"), null);
  assert.equal(canonicalTime("2021-02-29T00:00:00Z"), undefined);
  assert.equal(canonicalTime("2020-01-02T03:04:05.678901Z", "micro"), "2020-01-02T03:04:05.678901Z");
});

test("the present time is that of the clock, in whole seconds", () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 31, 12, 0, 0, 999));
  const timestamps = new Timestamps(clock);
  assert.equal(timestamps.now(), "2026-01-31T12:00:00Z");
  clock.advance(1);
  assert.equal(timestamps.now(), "2026-01-31T12:00:01Z");
  assert.equal(timestamps.now(), "2026-01-31T12:00:01Z");
});

test("the calendar is that of JavaScript", () => {
  const random = seededRandom(1);
  for (let i = 0; i < 2000; i++) {
    const ms = Math.floor((random.next() - 0.2) * 4e14);
    const text = new Date(ms).toISOString();
    if (text.length !== 24) continue;
    assert.equal(timestampOf(ms), `${text.slice(0, 19)}Z`);
    assert.equal(timeToMs(text), ms);
    assert.equal(leadingSeconds(text), Math.floor(ms / 1000));
    assert.deepEqual(parseTime(formatTime({ seconds: Math.floor(ms / 1000), nanos: 0 })), {
      seconds: Math.floor(ms / 1000),
      nanos: 0,
    });
  }
});

test("the seconds of a text are those of its date and time, and NaN for another text", () => {
  assert.equal(leadingSeconds("0001-01-01T00:00:00Z"), -62_135_596_800);
  assert.equal(leadingSeconds("2024-02-29T23:59:59.999999Z"), Date.UTC(2024, 1, 29, 23, 59, 59) / 1000);
  const others = ["", "2026", "2026-01-02", "2026-13-02T03:04:05Z", "2026-01-00T03:04:05Z", "2026-01-02T24:00:00Z"];
  for (const text of [
    ...others,
    "2026-01-02t03:04:05Z",
    "2026-01-02T03:60:05Z",
    "2o26-01-02T03:04:05Z",
    "2026-01-02T03:04:0",
  ])
    assert.equal(leadingSeconds(text), Number.NaN, text);
});
