/** The text that shows the progress of a run of tests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expectedSeconds, progressText } from "./progress.ts";

test("the remaining time is estimated once a part is done, and failures are named", () => {
  const text = (part: number, seconds: number, failed = 0): string =>
    progressText("tests", { files: 3, passed: 40, failed }, 90, part, seconds);
  assert.equal(text(0.01, 2.9), "tests: 3 of 90 files, 40 passed, 0:02");
  assert.equal(text(0.25, 100), "tests: 3 of 90 files, 40 passed, 1:40, about 5:00 left");
  assert.equal(text(1, 600, 2), "tests: 3 of 90 files, 40 passed, 2 failed, 10:00, about 0:00 left");
});

test("every file is expected to take some time", () => {
  const seconds = expectedSeconds(["scripts/progress.test.ts", "test/server/health.test.ts"]);
  assert.equal(seconds.size, 2);
  for (const one of seconds.values()) assert.ok(one > 0);
});
