/** Controllers of pods and Jobs: deletion after their end, missing nodes, claims of ephemeral volumes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Api } from "../harness.ts";
import { eventually, gated, startObserved, suite, domains } from "../harness.ts";
import { namespaces, pod } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite({ ...gated, controllers: ["*"] });

const job = (name: string, spec: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: { template: { spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } }, ...spec },
});

const finishedCondition = (type: string, time: string) => ({
  status: {
    startTime: time,
    ...(type === "Complete" ? { completionTime: time } : {}),
    conditions: [
      { type: type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget", status: "True", lastTransitionTime: time },
      { type, status: "True", lastTransitionTime: time },
    ],
  },
});

const timeIn = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;

inBothDomains("a finished Job goes when its time is over, another stays", async (api) => {
  const { ns } = await api.createNamespace();
  const jobs = `/apis/batch/v1/namespaces/${ns}/jobs`;
  for (const [name, seconds] of [
    ["over", 60],
    ["later", 100_000],
    ["never", undefined],
  ] as const) {
    (await api.post(jobs, job(name, { ttlSecondsAfterFinished: seconds }))).expect(201);
    (await api.patch(`${jobs}/${name}/status`, finishedCondition("Complete", timeIn(-1000)))).expect(200);
  }
  (await api.post(jobs, job("running", { ttlSecondsAfterFinished: 0 }))).expect(201);
  await eventually(async () => (await api.get(`${jobs}/over`)).expect(404));
  for (const name of ["later", "never", "running"]) (await api.get(`${jobs}/${name}`)).expect(200);
  (await api.patch(`${jobs}/later`, { spec: { ttlSecondsAfterFinished: 10 } })).expect(200);
  await eventually(async () => (await api.get(`${jobs}/later`)).expect(404));
});

inBothDomains("an ephemeral volume gets a claim of its pod, which goes with it", async (api) => {
  const { ns, claims } = await api.createNamespace();
  const pods = `${namespaces}/${ns}/pods`;
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const body = pod("p", { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: template } }] });
  const uid = (await eventually(async () => (await api.post(pods, body)).expect(201))).string("metadata.uid");
  await eventually(async () =>
    (await api.get(`${claims}/p-scratch`)).expect(200, {
      "metadata.labels": { a: "b" },
      "metadata.ownerReferences": [
        { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true, blockOwnerDeletion: true },
      ],
      "spec.resources.requests.storage": "1Gi",
    }),
  );
  (await api.delete(`${pods}/p?gracePeriodSeconds=0`)).expect(200);
  await eventually(async () => (await api.get(`${claims}/p-scratch`)).expect(404));
});

async function podAt(api: Api, ns: string, name: string, nodeName: string): Promise<string> {
  const path = `${namespaces}/${ns}/pods`;
  const body = pod(name, { nodeName }, { finalizers: ["example.com/hold"] });
  await eventually(async () => (await api.post(path, body)).expect(201));
  (await api.patch(`${path}/${name}/status`, { status: { phase: "Running" } })).expect(200);
  return `${path}/${name}`;
}

for (const domain of domains) {
  test(`${domain}: pods of a node that is gone for long fail and go; those of other nodes stay`, async () => {
    const { api, clock, close } = await startObserved(domain, { controllers: ["*"] });
    try {
      const { ns } = await api.createNamespace();
      for (const name of ["here", "gone"]) {
        (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } })).expect(201);
      }
      const stays = await podAt(api, ns, "stays", "here");
      const goes = await podAt(api, ns, "goes", "gone");
      (await api.delete("/api/v1/nodes/gone")).expect(200);
      await clock.untilWaiting(40_000);
      (await api.get(goes)).expect(200, { "metadata.deletionTimestamp": absent });
      clock.advance(40_000);
      await eventually(async () =>
        (await api.get(goes)).expect(200, {
          "metadata.deletionTimestamp": present,
          "status.phase": "Failed",
          "status.conditions[type=DisruptionTarget].status": "True",
          "status.conditions[type=DisruptionTarget].reason": "DeletionByPodGC",
          "status.conditions[type=DisruptionTarget].message": "PodGC: node no longer exists",
          "status.conditions[type=DisruptionTarget].lastTransitionTime": present,
        }),
      );
      (await api.get(stays)).expect(200, { "metadata.deletionTimestamp": absent, "status.phase": "Running" });
    } finally {
      await close();
    }
  });
}

test("controllers of resources that are not served do not ask for them", async () => {
  const off = ["batch/v1=false", "policy/v1=false", "discovery.k8s.io/v1=false"];
  const { api, logged, close } = await startObserved("k8s.io", { controllers: ["*"], runtimeConfig: off });
  try {
    const { serviceAccounts } = await api.createNamespace();
    await eventually(async () => (await api.get(`${serviceAccounts}/default`)).expect(200));
    assert.deepEqual(
      logged.filter((line) => line.includes("could not follow")),
      [],
    );
  } finally {
    await close();
  }
});
