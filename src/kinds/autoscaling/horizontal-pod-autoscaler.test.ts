/** Version v1 of autoscalers, which keeps other fields in annotations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "autoscaling";
const kind = "HorizontalPodAutoscaler";
const older = kindUnderTest({ group, version: "v1", kind });
const newer = kindUnderTest({ group, version: "v2", kind });
const prefix = "autoscaling.alpha.kubernetes.io/";
const scaleTargetRef = { kind: "Deployment", name: "d" };

test("annotations that are no fields of the newer version are dropped, each by itself", () => {
  const annotations = {
    mine: "1",
    [`${prefix}metrics`]: "[null, 5]",
    [`${prefix}behavior`]: "{",
    [`${prefix}conditions`]: '[{"type": "AbleToScale", "status": "True"}]',
  };
  const made = older.create({ metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });
  const hub = older.definition.conversion!.toHub(made);
  assert.deepEqual(hub.metadata.annotations, { mine: "1" });
  assert.deepEqual(hub["spec"], {
    scaleTargetRef,
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } }],
  });
  assert.deepEqual((hub["status"] as Record<string, unknown>)["conditions"], [
    { type: "AbleToScale", status: "True", lastTransitionTime: null },
  ]);
});

test("metrics of unknown types can be stored, read and listed", () => {
  const annotations = { [`${prefix}metrics`]: "[null]" };
  const made = older.create({ metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });
  const { toHub, fromHub } = older.definition.conversion!;
  const shown = fromHub(toHub(made));
  assert.deepEqual(shown.metadata.annotations, { [`${prefix}metrics`]: '[{"type":""}]' });
  assert.equal(older.row(shown)["Targets"], ": <unknown>/<auto>");
});

test("the older version says how many pods there are, even none", () => {
  const made = newer.create({ metadata: { name: "h" }, spec: { scaleTargetRef, maxReplicas: 3 } });
  assert.deepEqual(older.definition.conversion!.fromHub(made)["status"], { currentReplicas: 0, desiredReplicas: 0 });
});

test("the newer version leaves out that there are none", () => {
  const made = older.create({ metadata: { name: "h" }, spec: { scaleTargetRef, maxReplicas: 3 } });
  const { toHub } = older.definition.conversion!;
  const status = (currentReplicas: number): object =>
    toHub({ ...made, status: { currentReplicas, desiredReplicas: 0 } })["status"] as object;
  assert.deepEqual(status(0), { desiredReplicas: 0, currentMetrics: null });
  assert.deepEqual(status(2), { currentReplicas: 2, desiredReplicas: 0, currentMetrics: null });
});

test("the target of the newer version's default is that of the older one, unless annotations hold metrics", () => {
  const target = (annotations: Readonly<Record<string, string>>): unknown => {
    const made = older.create({ metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });
    return (made["spec"] as Record<string, unknown>)["targetCPUUtilizationPercentage"];
  };
  assert.equal(target({}), 80);
  const metrics =
    '[{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}]';
  assert.equal(target({ [`${prefix}metrics`]: metrics }), undefined);
});
