/** Metrics of authorization. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributes } from "#authz/attributes-for-tests.ts";
import type { Verdict } from "#authz/authorizer.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { observedAuthorizer } from "./metrics.ts";

test("refused actions are counted by action, and name only accounts of programs", () => {
  const metrics = new Metrics();
  const refusing = { authorize: (): Verdict => ({ decision: "noOpinion", reason: "" }) };
  const observed = observedAuthorizer(refusing, metrics, new FakeClock());
  const asked = (name: string, namespace: string): unknown =>
    observed.authorize(attributes({ user: { name, groups: [] }, namespace }));
  asked("system:serviceaccount:shop:robot", "shop");
  asked("system:serviceaccount:shop:robot", "shop");
  asked("alice", "shop");
  asked("system:anonymous", "shop");
  asked("alice", "x".repeat(1000));
  void observed.authorize(attributes({ isResourceRequest: false }));
  const lines = metrics.print().match(/^binnacle_authorization_refused_total\{.*$/gm) ?? [];
  const seen = lines.map((line) => `${/user="([^"]*)"/.exec(line)?.[1]} ${line.split(" ").at(-1)}`);
  assert.deepStrictEqual(seen, ["system:serviceaccount:shop:robot 2", " 2"]);
});

test("the number of refused actions that are told apart is bounded", () => {
  const metrics = new Metrics();
  const refusing = { authorize: (): Verdict => ({ decision: "noOpinion", reason: "" }) };
  const observed = observedAuthorizer(refusing, metrics, new FakeClock());
  for (let at = 0; at < 5000; at++) void observed.authorize(attributes({ namespace: `n${at}` }));
  const lines = metrics.print().match(/^binnacle_authorization_refused_total\{.*$/gm) ?? [];
  assert.ok(lines.length <= 501, String(lines.length));
  assert.ok(lines.some((line) => line.includes('user="other"') && line.endsWith(" 4500")));
});

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
