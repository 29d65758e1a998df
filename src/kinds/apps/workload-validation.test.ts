/** Validation of workloads of the apps group, their status and updates, with the messages of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const kind = (name: string, group = "apps") => kindUnderTest({ group, version: "v1", kind: name });

const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } };

const workload = (spec: Readonly<Record<string, unknown>>, status = {}): Unstructured => ({
  metadata: { name: "w" },
  spec: { selector: { matchLabels: { app: "a" } }, template, ...spec },
  status,
});

const notNegative = (path: string): string => `${path}: Invalid value: -1: must be greater than or equal to 0`;
const emptySelector = (called: string): string =>
  "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: " +
  `empty selector is invalid for ${called}`;

test("numbers and the strategy of a deployment are checked", () => {
  const { refuseCreate } = kind("Deployment");
  assert.deepEqual(refuseCreate(workload({})), []);
  const wrong = { minReadySeconds: -1, revisionHistoryLimit: -1, progressDeadlineSeconds: -1 };
  assert.deepEqual(refuseCreate(workload({ replicas: -1, ...wrong, strategy: { type: "Foo" } })), [
    notNegative("spec.replicas"),
    'spec.strategy: Unsupported value: {"type":"Foo"}: supported values: "Recreate", "RollingUpdate"',
    ...["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"].map((name) =>
      notNegative(`spec.${name}`),
    ),
    "spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds",
  ]);
  const validateRollingUpdate = (maxUnavailable: unknown, maxSurge: unknown): string[] =>
    refuseCreate(workload({ strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable, maxSurge } } }));
  assert.deepEqual(validateRollingUpdate(0, "0%"), [
    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
  ]);
  assert.deepEqual(validateRollingUpdate("101%", "101%"), [
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ]);
  assert.deepEqual(validateRollingUpdate(1, -1), [notNegative("spec.strategy.rollingUpdate.maxSurge")]);
  assert.deepEqual(refuseCreate(workload({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } })), [
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
  ]);
});

test("a selector is not empty, can be read, and selects the pods of the template", () => {
  for (const called of ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]) {
    const { refuseCreate } = kind(called);
    // The message of 1.32 mentions a deployment for replica sets too.
    const kindName = called === "ReplicaSet" ? "deployment" : called.toLowerCase();
    assert.deepEqual(refuseCreate(workload({ selector: {} })), [emptySelector(kindName)]);
    assert.deepEqual(refuseCreate(workload({ selector: { matchLabels: { app: "b" } } })), [
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"a"}: `selector` does not match template `labels`',
    ]);
  }
  const unreadable = { matchExpressions: [{ key: "app", operator: "Foo" }] };
  assert.match(
    kind("Deployment").refuseCreate(workload({ selector: unreadable, replicas: -1 }))[2]!,
    /invalid label selector$/,
  );
});

test("pods of workloads are restarted for ever", () => {
  const spec = { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 5 };
  const names = {
    Deployment: "ReplicaSet",
    ReplicaSet: "ReplicaSet",
    StatefulSet: "StatefulSet",
    DaemonSet: "DaemonSet",
  };
  for (const [called, named] of Object.entries(names)) {
    assert.deepEqual(kind(called).refuseCreate(workload({ template: { ...template, spec } })), [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${named} is not Supported`,
    ]);
  }
});

test("policies, ordinals and the strategy of a stateful set are checked", () => {
  const { refuseCreate, create } = kind("StatefulSet");
  assert.deepEqual(
    refuseCreate(
      workload({
        podManagementPolicy: "Foo",
        updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } },
        persistentVolumeClaimRetentionPolicy: { whenScaled: "X" },
        ordinals: { start: -1 },
      }),
    ),
    [
      "spec.podManagementPolicy: Invalid value: \"Foo\": must be 'OrderedReady' or 'Parallel'",
      `spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed for updateStrategy 'RollingUpdate'`,
      'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "X": supported values: "Retain", "Delete"',
      notNegative("spec.ordinals.start"),
    ],
  );
  const asked = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } };
  const { spec } = create(workload(asked)) as unknown as { spec: typeof asked }; // a StatefulSet
  assert.deepEqual(spec.updateStrategy.rollingUpdate, { partition: 0 }); // its gate is off
});

test("a daemon set is either short of pods or has too many while they are replaced", () => {
  const { refuseCreate } = kind("DaemonSet");
  const validateRollingUpdate = (maxUnavailable: unknown, maxSurge: unknown): string[] =>
    refuseCreate(workload({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable, maxSurge } } }));
  const path = "spec.updateStrategy.rollingUpdate";
  assert.deepEqual(validateRollingUpdate(0, 0), [
    `${path}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
  ]);
  assert.deepEqual(validateRollingUpdate(1, 1), [
    `${path}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`,
  ]);
});

test("a replication controller selects the pods of its template by labels", () => {
  const { refuseCreate } = kind("ReplicationController", "");
  assert.deepEqual(
    refuseCreate({ metadata: { name: "r" }, spec: { selector: { app: "b" }, template, replicas: -1 } }),
    [
      notNegative("spec.replicas"),
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"a"}: `selector` does not match template `labels`',
    ],
  );
  assert.deepEqual(refuseCreate({ metadata: { name: "r" }, spec: { selector: { app: "b" } } }), [
    "spec.template: Required value",
  ]);
});

test("an update is checked as a whole, and each finding comes once", () => {
  for (const called of ["ReplicaSet", "DaemonSet"]) {
    const { create, refuseUpdate } = kind(called);
    const changed = workload({ minReadySeconds: -1 });
    assert.deepEqual(refuseUpdate(changed, create(workload({}))), [notNegative("spec.minReadySeconds")]);
  }
});

test("no part of the replicas is larger than all of them", () => {
  const status = { replicas: 1, readyReplicas: 2, availableReplicas: 3 };
  const above = (name: string, count: number): string =>
    `status.${name}: Invalid value: ${count}: cannot be greater than status.replicas`;
  for (const called of ["Deployment", "ReplicaSet", "StatefulSet"]) {
    const { create, refuseUpdate } = kind(called);
    const ready = called === "StatefulSet" ? "status.readyReplicas" : "readyReplicas";
    assert.deepEqual(refuseUpdate(workload({}, status), create(workload({})), "status"), [
      above("readyReplicas", 2),
      above("availableReplicas", 3),
      `status.availableReplicas: Invalid value: 3: cannot be greater than ${ready}`,
    ]);
  }
});

test("collisions of names are only counted up", () => {
  for (const called of ["Deployment", "StatefulSet", "DaemonSet"]) {
    const { decode, refuseUpdate } = kind(called);
    const before = decode(workload({}, { collisionCount: 3 }));
    assert.deepEqual(refuseUpdate(workload({}, { collisionCount: 3 }), before, "status"), []);
    assert.deepEqual(refuseUpdate(workload({}, { collisionCount: 2 }), before, "status"), [
      "status.collisionCount: Invalid value: 2: cannot be decremented",
    ]);
    const none = decode(workload({}, { collisionCount: 0 }));
    assert.deepEqual(refuseUpdate(workload({}, {}), none, "status"), [
      "status.collisionCount: Invalid value: 0: cannot be decremented",
    ]);
  }
});

test("a controller revision holds an object, which never changes", () => {
  const { create, refuseCreate, refuseUpdate } = kind("ControllerRevision");
  const revision = (data: unknown, number = 1): Unstructured => ({ metadata: { name: "r" }, data, revision: number });
  assert.deepEqual(refuseCreate(revision(undefined, -1)), [
    notNegative("revision"),
    "data: Required value: data is mandatory",
  ]);
  assert.deepEqual(refuseCreate(revision([])), ["data: Required value: data must be a valid JSON object"]);
  assert.deepEqual(refuseUpdate(revision({ a: 2 }), create(revision({ a: 1 }))), [
    'data: Invalid value: {"a":2}: field is immutable',
  ]);
});
