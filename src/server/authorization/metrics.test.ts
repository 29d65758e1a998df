/** Metrics of authorization. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributes } from "#authz/attributes-for-tests.ts";
import type { Verdict } from "#authz/authorizer.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { observedAuthorizer } from "./metrics.ts";

test("answers about requests are counted by what they are, at once or late", async () => {
  const metrics = new Metrics();
  const verdicts: readonly Verdict[] = [
    { decision: "allow", reason: "" },
    { decision: "noOpinion", reason: "" },
    { decision: "noOpinion", reason: "", error: "broken" },
  ];
  let next = 0;
  const authorize = () => {
    const verdict = verdicts[next++ % 3]!;
    return next > 3 ? Promise.resolve(verdict) : verdict;
  };
  const observed = observedAuthorizer({ authorize }, metrics, new FakeClock());
  for (let i = 0; i < 6; i++) await observed.authorize(attributes());
  const text = metrics.print();
  for (const result of ["allowed", "no-opinion", "error"]) {
    assert.match(text, new RegExp(`^authorization_attempts_total\\{result="${result}"\\} 2$`, "m"));
    assert.match(text, new RegExp(`^authorization_duration_seconds_count\\{result="${result}"\\} 2$`, "m"));
  }
  assert.doesNotMatch(text, /denied/);
});
