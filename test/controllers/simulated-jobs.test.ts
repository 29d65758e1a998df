/** Simulated workloads: Jobs and CronJobs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob, Job } from "#client/kinds.ts";
import { listed, simulated, template } from "./simulated.ts";

const job = (
  name: string,
  spec: object = {},
  annotations: Readonly<Record<string, string>> = {},
  restartPolicy = "Never",
) => ({
  metadata: { name },
  spec: { template: template(name, annotations, { restartPolicy }), ...spec },
});

const fails = { "simulation.binnacle.dev/fail": "out of paper" };

const conditionsOf = (object: Job): readonly string[] =>
  (object.status.conditions ?? [])
    .filter(({ status }) => status === "True")
    .map(({ type, reason }) => `${type} ${reason}`);

test("a Job completes with its pods, which stay and have no finalizers", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { completions: 3, parallelism: 2 }));
  await advance(0);
  const started = await jobs.get("report");
  assert.deepEqual([started.status.active, started.status.succeeded], [2, undefined]);
  await advance(3);
  const { status } = await jobs.get("report");
  assert.deepEqual([status.succeeded, status.active, status.failed], [3, undefined, undefined]);
  assert.deepEqual(conditionsOf(await jobs.get("report")), [
    "SuccessCriteriaMet CompletionsReached",
    "Complete CompletionsReached",
  ]);
  assert.ok(status.completionTime !== undefined);
  const made = await listed(pods.list());
  assert.deepEqual(
    made.map(({ metadata, status: { phase } }) => [phase, metadata.finalizers]),
    Array.from({ length: 3 }, () => ["Succeeded", undefined]),
  );
});

test("a Job does not forget pods that have ended when they are deleted", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { completions: 3, parallelism: 1 }));
  await advance(1);
  const [first] = (await listed(pods.list())).filter(({ status }) => status.phase === "Succeeded");
  assert.equal((await jobs.get("report")).status.succeeded, 1);
  await pods.delete(first!.metadata.name);
  await advance(0);
  assert.equal((await jobs.get("report")).status.succeeded, 1);
  await advance(3);
  const { status } = await jobs.get("report");
  assert.deepEqual([status.succeeded, status.failed, (await listed(pods.list())).length], [3, undefined, 2]);
});

test("a Job counts a pod once, also when it is released and adopted again", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  const stops = { "simulation.binnacle.dev/exit-after": "100h" };
  await jobs.create(job("report", { completions: 9, parallelism: 2 }, stops));
  await advance(0);
  const [first, second] = await listed(pods.list());
  const { name, uid, labels } = first!.metadata;
  await pods.status.patch(name, { merge: { status: { phase: "Succeeded" } } });
  await pods.status.patch(second!.metadata.name, { merge: { status: { phase: "Failed" } } });
  await advance(0);
  const numbersOf = ({ status: { succeeded, failed, uncountedTerminatedPods: left } }: Job) => [
    succeeded,
    failed,
    left,
  ];
  assert.deepEqual(numbersOf(await jobs.get("report")), [1, 1, {}]);
  assert.equal((await pods.get(name)).metadata.annotations?.["simulation.binnacle.dev/counted"], uid);
  for (const one of [first!, second!]) {
    const selecting = Object.keys(labels ?? {}).filter((label) => label.endsWith("controller-uid"));
    const without = Object.fromEntries(selecting.map((label) => [label, null]));
    await pods.patch(one.metadata.name, { merge: { metadata: { labels: without } } });
    await advance(0);
    const released = await pods.get(one.metadata.name);
    assert.deepEqual(released.metadata.ownerReferences ?? [], []);
    await pods.patch(one.metadata.name, { merge: { metadata: { labels: one.metadata.labels } } });
    await advance(0);
    assert.equal((await pods.get(one.metadata.name)).metadata.ownerReferences?.[0]?.name, "report");
    assert.deepEqual(numbersOf(await jobs.get("report")), [1, 1, {}]);
  }
});

test("pods are counted although their template says that they have been", async (t) => {
  const { client, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { completions: 1 }, { "simulation.binnacle.dev/counted": "true" }));
  await advance(2);
  assert.equal((await jobs.get("report")).status.succeeded, 1);
});

test("a Job tries again after pauses, and fails at its limit", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { backoffLimit: 2 }, fails));
  await advance(8);
  const failed = await jobs.get("report");
  assert.deepEqual([failed.status.failed, failed.status.active], [3, undefined]);
  assert.deepEqual(conditionsOf(failed), ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]);
  const made = await listed(pods.list());
  assert.deepEqual(
    made.map(({ status }) => [status.phase, status.containerStatuses?.[0]?.state.terminated?.message]),
    Array.from({ length: 3 }, () => ["Failed", "out of paper"]),
  );
});

test("a Job whose containers are restarted counts the restarts", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { backoffLimit: 2 }, fails, "OnFailure"));
  await advance(8);
  assert.deepEqual(conditionsOf(await jobs.get("report")), [
    "FailureTarget BackoffLimitExceeded",
    "Failed BackoffLimitExceeded",
  ]);
  assert.deepEqual(await listed(pods.list()), []);
});

test("a Job ends at its deadline, and its pods with it", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { activeDeadlineSeconds: 90 }, { "simulation.binnacle.dev/exit-after": "1h" }));
  await advance(2);
  const failed = await jobs.get("report");
  assert.deepEqual(conditionsOf(failed), ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]);
  assert.deepEqual([await listed(pods.list()), failed.status.active], [[], undefined]);
});

test("a suspended Job has no pods, and starts anew when it is resumed", async (t) => {
  const { client, pods, advance, server } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("report", { suspend: true }));
  await advance(1);
  assert.deepEqual(conditionsOf(await jobs.get("report")), ["Suspended JobSuspended"]);
  assert.deepEqual(await listed(pods.list()), []);
  await jobs.patch("report", { merge: { spec: { suspend: false } } });
  await advance(0);
  assert.equal((await listed(pods.list())).length, 1);
  await jobs.patch("report", { merge: { spec: { suspend: true } } });
  await server.clock.advance("5s");
  assert.deepEqual(await listed(pods.list()), []);
  // The time of the start belongs to the pods that run, and has to be another one when there are others.
  assert.equal((await jobs.get("report")).status.startTime, undefined);
  await jobs.patch("report", { merge: { spec: { suspend: false } } });
  await advance(4);
  assert.equal((await jobs.get("report")).status.succeeded, 1);
});

test("an indexed Job has a pod for each index, and lists those that are done", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  await jobs.create(job("shard", { completions: 5, parallelism: 2, completionMode: "Indexed" }));
  await advance(1);
  assert.equal((await jobs.get("shard")).status.completedIndexes, "0-1");
  await advance(2);
  const { status } = await jobs.get("shard");
  assert.deepEqual([status.completedIndexes, status.succeeded], ["0-4", 5]);
  const made = await listed(pods.list());
  assert.deepEqual(
    made.map(({ spec, metadata }) => [spec.hostname, metadata.labels?.["batch.kubernetes.io/job-completion-index"]]),
    [0, 1, 2, 3, 4].map((index) => [`shard-${index}`, String(index)]),
  );
});

test("a Job that is deleted takes its pods with it, in each way", async (t) => {
  const { client, pods, advance } = await simulated(t);
  const jobs = client.kind(Job).in("default");
  for (const propagation of ["Background", "Foreground"] as const) {
    await jobs.create(job("report", { parallelism: 2, completions: 2 }));
    await advance(0);
    assert.equal((await listed(pods.list())).length, 2);
    await jobs.delete("report", { propagation });
    await advance(0);
    assert.deepEqual([await listed(pods.list()), await jobs.find("report")], [[], undefined]);
  }
});

test("a Job that has ended goes after its time to live", async (t) => {
  const { client, pods, advance } = await simulated(t);
  await client.kind(Job).create(job("report", { ttlSecondsAfterFinished: 30 }), { in: "default" });
  await advance(3);
  assert.deepEqual([await listed(client.kind(Job).in("default").list()), await listed(pods.list())], [[], []]);
});

const cronJob = (
  name: string,
  schedule: string,
  spec: object = {},
  annotations: Readonly<Record<string, string>> = {},
) => ({
  metadata: { name },
  spec: {
    schedule,
    jobTemplate: { spec: { template: template(name, annotations, { restartPolicy: "Never" }) } },
    ...spec,
  },
});

test("a CronJob makes Jobs when they are due, and keeps some of them", async (t) => {
  const { client, server, advance } = await simulated(t);
  const crons = client.kind(CronJob).in("default");
  await crons.create(cronJob("nightly", "*/10 * * * *", { successfulJobsHistoryLimit: 2 }));
  await advance(0);
  for (let time = 0; time < 5; time++) {
    await server.clock.advance("10m");
    await advance(2);
  }
  const jobs = await listed(client.kind(Job).in("default").list());
  // One more may just have begun.
  const completed = jobs.filter(({ status }) => status.completionTime !== undefined);
  assert.equal(completed.length, 2);
  for (const { metadata, status } of completed) {
    const scheduled = metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"];
    assert.match(scheduled ?? "", /:[0-5]0:00Z$/);
    assert.equal(metadata.name, `nightly-${Date.parse(scheduled ?? "") / 60_000}`);
    assert.equal(status.succeeded, 1);
  }
  const { status } = await crons.get("nightly");
  assert.ok(status.lastScheduleTime !== undefined && status.lastSuccessfulTime !== undefined);
});

test("a CronJob forbids, replaces or allows Jobs beside each other, and makes none while suspended", async (t) => {
  const { client, server, advance } = await simulated(t);
  const long = { "simulation.binnacle.dev/exit-after": "10h" };
  const crons = client.kind(CronJob).in("default");
  for (const policy of ["Forbid", "Replace", "Allow"]) {
    await crons.create(cronJob(policy.toLowerCase(), "0 * * * *", { concurrencyPolicy: policy }, long));
  }
  await crons.create(cronJob("suspended", "0 * * * *", { suspend: true }));
  await advance(0);
  for (let time = 0; time < 3; time++) {
    await server.clock.advance("1h");
    await advance(0);
  }
  const owners = (await listed(client.kind(Job).in("default").list())).map(
    ({ metadata }) => metadata.ownerReferences?.[0]?.name,
  );
  const count = (name: string): number => owners.filter((one) => one === name).length;
  assert.deepEqual([count("forbid"), count("replace"), count("allow"), count("suspended")], [1, 1, 3, 0]);
  assert.equal((await crons.get("allow")).status.active?.length, 3);
});
