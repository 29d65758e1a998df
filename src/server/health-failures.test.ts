/** Health checks that fail, in the log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { healthFailures } from "./health-failures.ts";

test("a check that fails is told of once in ten seconds, however often anybody asks", () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const line =
    (level: string) =>
    (fields: object): void =>
      void lines.push(`${level} ${Object.values(fields).join(" ")}`);
  const failed = healthFailures(clock, { debug: line("debug"), warn: line("warn") });
  for (let count = 0; count < 1000; count++) failed("livez", "log", `${count} ms`);
  failed("readyz", "log", "0 ms");
  failed("readyz", "shutdown", "ends");
  clock.advance(10_000);
  failed("livez", "log", "11000 ms");
  assert.deepEqual(lines, [
    "warn livez log 0 ms",
    "warn readyz log 0 ms",
    "debug readyz shutdown ends",
    "warn livez log 11000 ms",
  ]);
});
