/** Metrics of authorization. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributes } from "#authz/attributes-for-tests.ts";
import type { Verdict } from "#authz/authorizer.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { observedAuthorizer } from "./metrics.ts";

const refusing = { authorize: (): Verdict => ({ decision: "noOpinion", reason: "" }) };

/** Returns functions that have a request of a user about a namespace refused, and that read the metric. */
function refusals() {
  const metrics = new Metrics();
  const observed = observedAuthorizer(refusing, metrics, new FakeClock());
  return {
    refuse: (name: string, namespace: string): void =>
      void observed.authorize(attributes({ user: { name, groups: [] }, namespace })),
    refusePath: (): void => void observed.authorize(attributes({ isResourceRequest: false })),
    /** The series as user, namespace and number. */
    series: (): readonly string[] =>
      (metrics.print().match(/^binnacle_authorization_refused_total\{.*$/gm) ?? []).map((line) => {
        const [, user, namespace, count] = /user="([^"]*)".*namespace="([^"]*)"\} (\d+)$/.exec(line)!;
        return `${user} ${namespace} ${count}`;
      }),
  };
}

test("refused actions are counted by action for accounts of programs, and together for people and strangers", () => {
  const { refuse, refusePath, series } = refusals();
  refuse("system:serviceaccount:shop:robot", "shop");
  refuse("system:serviceaccount:shop:robot", "shop");
  refuse("system:serviceaccount:shop:robot", "x".repeat(1000));
  refuse("system:kube-scheduler", "shop");
  refuse("system:node:one", "shop");
  for (const name of ["alice", "system:anonymous", "system:admin"]) refuse(name, "shop");
  refuse("alice", "x".repeat(1000));
  refusePath();
  assert.deepStrictEqual(series(), [
    "  4",
    "system:serviceaccount:shop:robot shop 2",
    "system:kube-scheduler shop 1",
    "system:node:one shop 1",
  ]);
});

test("strangers and people take no room from the accounts of programs", () => {
  const { refuse, series } = refusals();
  for (let at = 0; at < 5000; at++) {
    refuse("system:anonymous", `n${at}`);
    refuse(`person-${at}`, `n${at}`);
  }
  refuse("system:serviceaccount:shop:controller", "shop");
  assert.deepStrictEqual(series(), ["  10000", "system:serviceaccount:shop:controller shop 1"]);
});

test("an account that is refused many actions takes no room from others of its namespace", () => {
  const { refuse, series } = refusals();
  for (let at = 0; at < 5000; at++) refuse("system:serviceaccount:shop:noisy", `n${at}`);
  refuse("system:serviceaccount:shop:controller", "shop");
  refuse("system:serviceaccount:shop:noisy", "n0");
  const seen = series();
  assert.strictEqual(seen.filter((line) => line.startsWith("system:serviceaccount:shop:noisy ")).length, 20);
  assert.ok(seen.includes("system:serviceaccount:shop:noisy n0 2"));
  assert.ok(seen.includes("system:serviceaccount:shop:controller shop 1"));
  assert.ok(seen.includes("other other 4980"));
});

test("many accounts of a namespace, and many nodes, take no room from others", () => {
  const { refuse, series } = refusals();
  for (let at = 0; at < 5000; at++) {
    refuse(`system:serviceaccount:mine:robot-${at}`, "shop");
    refuse(`system:node:node-${at}`, "shop");
  }
  refuse("system:serviceaccount:shop:controller", "shop");
  refuse("system:kube-scheduler", "shop");
  const seen = series();
  for (const home of ["system:serviceaccount:mine:", "system:node:"])
    assert.strictEqual(seen.filter((line) => line.startsWith(home)).length, 100);
  assert.ok(seen.includes("system:serviceaccount:shop:controller shop 1"));
  assert.ok(seen.includes("system:kube-scheduler shop 1"));
});

test("the number of refused actions that are told apart is bounded", () => {
  const { refuse, series } = refusals();
  for (let at = 0; at < 5000; at++) refuse(`system:serviceaccount:n${at}:robot`, "shop");
  const seen = series();
  assert.strictEqual(seen.length, 1002);
  assert.ok(seen.includes("other other 4000"));
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
