/** Validation of jobs, their status, and cron jobs, with the messages of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const jobs = kindUnderTest({ group: "batch", version: "v1", kind: "Job" });
const cronJobs = kindUnderTest({ group: "batch", version: "v1", kind: "CronJob" });

type Fields = Readonly<Record<string, unknown>>;

const template = { spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } };
const job = (spec: Fields, status: Fields = {}): Unstructured => ({
  metadata: { name: "j", uid: "u" },
  spec: { template, ...spec },
  status,
});
const refuse = (spec: Fields): string[] => jobs.refuseCreate(job(spec));

test("numbers of a job are not negative, and some need indexes", () => {
  assert.deepEqual(refuse({}), []);
  assert.deepEqual(refuse({ parallelism: -1, backoffLimitPerIndex: -1, completionMode: "Foo", managedBy: "x" }), [
    "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
    "spec.backoffLimitPerIndex: Invalid value: -1: must be greater than or equal to 0",
    'spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")',
    'spec.completionMode: Unsupported value: "Foo": supported values: "NonIndexed", "Indexed"',
  ]);
  assert.deepEqual(refuse({ maxFailedIndexes: 1 }), [
    "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
    "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
  ]);
  const many = { completionMode: "Indexed", completions: 100001, backoffLimitPerIndex: 1 };
  assert.deepEqual(refuse({ ...many, parallelism: 10001 }), [
    "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
    "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
  ]);
});

test("pods of a job end", () => {
  const restarted = { spec: { ...template.spec, restartPolicy: "Always" } };
  assert.deepEqual(refuse({ template: restarted }), [
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ]);
});

test("a job that selects by itself selects the pods it makes", () => {
  assert.deepEqual(refuse({ manualSelector: true, selector: { matchLabels: { a: "b" } } }), [
    "spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`",
  ]);
  assert.deepEqual(refuse({ selector: { matchLabels: { a: "b" } } }), [
    'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b", "batch.kubernetes.io/controller-uid":"u"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated',
    'spec.template.metadata.labels: Invalid value: map[string]string{"batch.kubernetes.io/controller-uid":"u", "batch.kubernetes.io/job-name":"j", "controller-uid":"u", "job-name":"j"}: `selector` does not match template `labels`',
  ]);
});

test("rules about failed pods look at exit codes or at conditions", () => {
  const rule = (fields: Fields): string[] => refuse({ podFailurePolicy: { rules: [fields] } });
  const path = "spec.podFailurePolicy.rules[0]";
  assert.deepEqual(rule({}), [
    `${path}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
    `${path}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
  ]);
  const onExitCodes = { operator: "In", values: [1, 1, 0], containerName: "x" };
  assert.deepEqual(rule({ action: "FailIndex", onExitCodes, onPodConditions: [{ type: "A b" }] }).length, 7);
});

test("a job succeeds early by a number of indexes", () => {
  const rule = (fields: Fields): string[] =>
    refuse({ completionMode: "Indexed", completions: 3, successPolicy: { rules: [fields] } });
  const path = "spec.successPolicy.rules[0]";
  assert.deepEqual(rule({ succeededIndexes: "0,2" }), []);
  assert.deepEqual(rule({}), [
    `${path}: Required value: at least one of succeededCount or succeededIndexes must be specified`,
  ]);
  assert.deepEqual(rule({ succeededCount: 3, succeededIndexes: "0-1" }), [
    `${path}.succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)`,
  ]);
  const wrong: Fields = {
    "2,1": "non-increasing order, previous: 2, current: 1",
    "0-5": 'too large index: "5"',
    "0,,1": 'cannot convert string to integer for index: ""',
    "0-1-2": `the fragment "0-1-2" violates the requirement that an index interval can have at most two parts separated by '-'`,
  };
  for (const [text, error] of Object.entries(wrong)) {
    assert.deepEqual(rule({ succeededIndexes: text }), [
      `${path}.succeededIndexes: Invalid value: "${text}": error parsing succeededIndexes: ${String(error)}`,
    ]);
  }
});

const time = "2024-01-01T00:00:00Z";
const isTrue = (...types: readonly string[]): Fields[] => types.map((type) => ({ type, status: "True" }));

test("a job that is over says when it began, and stays over", () => {
  const before = jobs.create(job({}));
  const refuseStatus = (status: Fields, old = before): string[] => jobs.refuseUpdate(job({}, status), old, "status");
  const complete = { startTime: time, completionTime: time, conditions: isTrue("SuccessCriteriaMet", "Complete") };
  assert.deepEqual(refuseStatus(complete), []);
  assert.deepEqual(refuseStatus({ conditions: isTrue("Complete") }), [
    "status.completionTime: Required value: completionTime is required for Complete jobs",
    "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    "status.startTime: Required value: startTime is required for finished job",
  ]);
  assert.deepEqual(refuseStatus({ startTime: time }, job({}, complete)), [
    "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
    "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
  ]);
  assert.deepEqual(refuseStatus({ ...complete, active: 1 }, job({}, complete)), [
    "status.active: Invalid value: 1: active>0 is invalid for finished job",
  ]);
});

test("a job that is over has counted its pods", () => {
  const left = { succeeded: ["a", "b"] };
  const complete = { startTime: time, completionTime: time, conditions: isTrue("SuccessCriteriaMet", "Complete") };
  const refuseStatus = (status: Fields, old: Fields): string[] =>
    jobs.refuseUpdate(job({}, status), job({}, old), "status");
  const expected = [
    'status.uncountedTerminatedPods: Invalid value: {"succeeded":["a","b"]}: uncountedTerminatedPods needs to be empty for finished job',
  ];
  assert.deepEqual(refuseStatus({ ...complete, uncountedTerminatedPods: left }, { startTime: time }), expected);
  assert.deepEqual(refuseStatus({ ...complete, uncountedTerminatedPods: left }, complete), expected);
  assert.deepEqual(refuseStatus({ ...complete, uncountedTerminatedPods: {} }, { startTime: time }), []);
  const before = { ...complete, uncountedTerminatedPods: left };
  assert.deepEqual(refuseStatus(before, before), [], "what was stored so may stay");
});

test("an index has either failed or succeeded", () => {
  const spec = { completionMode: "Indexed", completions: 5, parallelism: 5, backoffLimitPerIndex: 1 };
  const status = { completedIndexes: "0-1,3", failedIndexes: "2-4" };
  const errors = jobs.refuseUpdate(job(spec, status), jobs.create(job(spec)), "status");
  assert.deepEqual(errors, [
    'status.failedIndexes: Invalid value: "2-4": failedIndexes and completedIndexes overlap at index: 3',
  ]);
  const both = { completedIndexes: "9,1", failedIndexes: "2-1,x,1" };
  const overlapping = jobs.refuseUpdate(job(spec, both), jobs.create(job(spec)), "status").slice(-1);
  assert.deepEqual(overlapping, [
    'status.failedIndexes: Invalid value: "2-1,x,1": failedIndexes and completedIndexes overlap at index: 1',
  ]);
});

test("a suspended job may change the nodes its pods may run on, not their affinity to pods", () => {
  const spec = { ...template.spec };
  const old = jobs.create(job({ suspend: true }));
  const change = (fields: Fields): number => {
    const { template: made, ...rest } = old["spec"] as { template: { spec: Fields } }; // a Job
    const next = { ...old, spec: { ...rest, template: { ...made, spec: { ...made.spec, ...spec, ...fields } } } };
    return jobs.refuseUpdate(next, old).length;
  };
  assert.equal(change({ nodeSelector: { a: "b" }, affinity: { nodeAffinity: {} } }), 0);
  assert.equal(change({ affinity: { podAffinity: {} } }), 1);
  const empty = jobs.create(job({ suspend: true, template: { ...template, spec: { ...spec, affinity: {} } } }));
  assert.deepEqual(jobs.refuseUpdate(empty, empty), [], "an affinity without content may stay");
});

test("a cron job has a schedule, a known time zone and jobs without selectors", () => {
  const cron = (fields: Fields, spec: Fields = {}): string[] =>
    cronJobs.refuseCreate({
      metadata: { name: "c" },
      spec: { schedule: "* * * * *", jobTemplate: { spec: { template, ...spec } }, ...fields },
    });
  for (const timeZone of ["Europe/Berlin", "UTC", "Asia/Kolkata", "Etc/GMT+5"])
    assert.deepEqual(cron({ timeZone }), []);
  for (const timeZone of ["europe/berlin", "utc", "+01:00", "JST", "A/B"]) {
    assert.deepEqual(cron({ timeZone }), [
      `spec.timeZone: Invalid value: "${timeZone}": unknown time zone ${timeZone}`,
    ]);
  }
  assert.deepEqual(cron({ timeZone: "", schedule: "" }), [
    "spec.schedule: Required value",
    'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string',
  ]);
  assert.deepEqual(cron({ schedule: "TZ=UTC x", concurrencyPolicy: "Foo" }), [
    'spec.schedule: Invalid value: "TZ=UTC x": expected exactly 5 fields, found 1: [x]',
    'spec.schedule: Invalid value: "TZ=UTC x": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    'spec.concurrencyPolicy: Unsupported value: "Foo": supported values: "Allow", "Forbid", "Replace"',
  ]);
  assert.deepEqual(cron({}, { manualSelector: true, parallelism: -1 }), [
    "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
    'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
  ]);
});

test("a job with a success policy is complete only when its criteria are met", () => {
  const spec = { completionMode: "Indexed", completions: 2, successPolicy: { rules: [{ succeededCount: 1 }] } };
  const refuseStatus = (...types: readonly string[]): string[] =>
    jobs.refuseUpdate(
      job(spec, { startTime: time, completionTime: time, conditions: isTrue(...types) }),
      jobs.create(job(spec)),
      "status",
    );
  const detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
  assert.ok(refuseStatus("Complete").includes(`status.conditions: Invalid value: ${detail}`));
  assert.deepEqual(refuseStatus("SuccessCriteriaMet", "Complete"), []);
});

test("the status of a job is hardly checked without the gates about jobs of other controllers", () => {
  const status = { ready: 1, failedIndexes: "0", completionTime: time, conditions: isTrue("Complete") };
  const met = { conditions: isTrue("SuccessCriteriaMet") };
  const refuseWith = (gates: readonly string[], next: Fields, before: Fields = {}): string[] => {
    const kind = kindUnderTest({ group: "batch", version: "v1", kind: "Job" }, { gates });
    return kind.refuseUpdate(job({}, next), kind.create(job({}, before)), "status");
  };
  assert.deepEqual(refuseWith([], status), []);
  assert.equal(refuseWith(["JobManagedBy"], status).length, 4);
  assert.deepEqual(refuseWith([], met), [
    "status.conditions: Invalid value: cannot set SuccessCriteriaMet to NonIndexed Job",
    "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job without SuccessPolicy",
  ]);
  assert.deepEqual(refuseWith(["JobPodReplacementPolicy"], met), []);
});
