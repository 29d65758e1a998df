/** Tests that tests which measure time are found, and tests that only read the time are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findMeasuredTimes } from "./tidy-tests.ts";

const find = (code: string, file = "test/server/a.test.ts"): string[] =>
  findMeasuredTimes(file, code).map(({ line, message }) => `${line}: ${message.split(" measures")[0]}`);

test("meters of time, and differences of times of now, are found in tests", () => {
  assert.deepEqual(find("const start = performance.now();\nwork();\nassert.ok(performance.now() - start < 500);"), [
    "1: performance.now",
    "3: performance.now",
  ]);
  assert.deepEqual(find("const { user } = process.cpuUsage(start);"), ["1: process.cpuUsage"]);
  assert.deepEqual(find("const start = Date.now();\nassert.ok(Date.now() - start < 500);"), ["2: Date.now() - start"]);
  const twice = "const start: number = Date.now();\nlet end = systemClock.monotonic();\nconst took = end - start;";
  assert.deepEqual(find(twice), ["3: end - start"]);
  assert.deepEqual(find("process.hrtime.bigint();", "test/client.ts"), ["1: process.hrtime"]);
  assert.deepEqual(find("process.hrtime.bigint();", "src/std/heap.test.ts"), ["1: process.hrtime"]);
  assert.deepEqual(find("process.hrtime.bigint();", "src/codec/json.fuzz.ts"), ["1: process.hrtime"]);
});

test("deadlines of waiting, times in objects and code outside of tests are accepted", () => {
  assert.deepEqual(find("const deadline = Date.now() + 500;\nwhile (Date.now() < deadline) await turn();"), []);
  assert.deepEqual(find("const deadline = Date.now() + 500;\nconst left = deadline - Date.now();"), []);
  assert.deepEqual(find("issue({ notBefore: new Date(Date.now() - 3_600_000) });"), []);
  assert.deepEqual(find("assert.ok(notAfter.getTime() - Date.now() < hourMs);"), []);
  assert.deepEqual(find("const start = performance.now();", "bench/run.ts"), []);
  assert.deepEqual(find("const start = performance.now();", "test/simulation/clients.test.ts"), []);
});
