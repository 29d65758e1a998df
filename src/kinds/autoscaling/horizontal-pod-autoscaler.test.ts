/** Version v1 of autoscalers, which keeps other fields in annotations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "autoscaling";
const kind = "HorizontalPodAutoscaler";
const older = kindUnderTest({ group, version: "v1", kind });
const newer = kindUnderTest({ group, version: "v2", kind });
const prefix = "autoscaling.alpha.kubernetes.io/";
const scaleTargetRef = { kind: "Deployment", name: "d" };

const createAutoscaler = (annotations: Readonly<Record<string, string>>): Unstructured =>
  older.create({ metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });

test("annotations that are no fields of the newer version are dropped, each by itself", () => {
  const annotations = {
    mine: "1",
    [`${prefix}metrics`]: "[null, 5]",
    [`${prefix}behavior`]: "{",
    [`${prefix}conditions`]: '[{"type": "AbleToScale", "status": "True"}]',
  };
  const hub = older.definition.conversion!.toHub(createAutoscaler(annotations));
  assert.deepEqual(hub.metadata.annotations, { mine: "1" });
  assert.deepEqual(hub["spec"], {
    scaleTargetRef,
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } }],
  });
});

test("annotations hold metrics and the behaviour as kube-apiserver writes them", () => {
  const metrics = [
    '{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"5","averageValue":"3"}}',
    '{"type":"Pods","pods":{"metricName":"m<","targetAverageValue":"100m","selector":{"matchLabels":{"a":"b"}}}}',
    '{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":80}}',
    '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageValue":"2","container":"c"}}',
    '{"type":"External","external":{"metricName":"q","metricSelector":{},"targetValue":"5"}}',
  ];
  const policies = '[{"Type":"Pods","Value":4,"PeriodSeconds":15}]';
  const given = {
    [`${prefix}metrics`]: `[${metrics.join(",")}]`.replace("<", "\\u003c"),
    [`${prefix}behavior`]: `{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Min","Policies":${policies}},"ScaleDown":null}`,
  };
  const object = createAutoscaler(given);
  assert.deepEqual(object.metadata.annotations, given);
  const { toHub, fromHub } = older.definition.conversion!;
  const spec = toHub(object)["spec"] as Record<string, unknown>;
  assert.deepEqual((spec["metrics"] as readonly unknown[]).slice(0, 3), [
    {
      type: "Object",
      object: {
        describedObject: { kind: "Service", name: "s" },
        target: { type: "AverageValue", value: "5", averageValue: "3" },
        metric: { name: "m" },
      },
    },
    {
      type: "Pods",
      pods: {
        metric: { name: "m<", selector: { matchLabels: { a: "b" } } },
        target: { type: "AverageValue", averageValue: "100m" },
      },
    },
    { type: "Resource", resource: { name: "memory", target: { type: "Utilization", averageUtilization: 80 } } },
  ]);
  const shown = fromHub(toHub(object)).metadata.annotations!;
  assert.equal(shown[`${prefix}metrics`], given[`${prefix}metrics`]);
  // An omitted field gets its default when the object is stored.
  assert.match(shown[`${prefix}behavior`]!, /^\{"ScaleUp":\{"StabilizationWindowSeconds":5,.*"ScaleDown":\{/);
});

test("the status comes from writes of the status alone, the spec from others", () => {
  const conditions = (status: string): string =>
    `[{"type":"AbleToScale","status":"${status}","lastTransitionTime":"2021-03-08T17:42:11Z"}]`;
  const first = createAutoscaler({ [`${prefix}conditions`]: conditions("True"), mine: "1" });
  assert.deepEqual(first.metadata.annotations, { mine: "1" });
  const autoscalerNamed = (status: string, name: string): Unstructured => ({
    ...first,
    metadata: {
      ...first.metadata,
      annotations: {
        [`${prefix}conditions`]: conditions(status),
        [`${prefix}metrics`]: `[{"type":"Pods","pods":{"metricName":"${name}","targetAverageValue":"1"}}]`,
      },
    },
  });
  const second = older.update(autoscalerNamed("True", "a"), first, "status");
  assert.deepEqual(second.metadata.annotations, { [`${prefix}conditions`]: conditions("True") });
  const third = older.update(autoscalerNamed("False", "b"), second);
  assert.equal(third.metadata.annotations![`${prefix}conditions`], conditions("True"));
  assert.match(third.metadata.annotations![`${prefix}metrics`]!, /"metricName":"b"/);
});

test("the newer version drops the annotations of the older one", () => {
  const annotations = { [`${prefix}metrics`]: "[]", [`${prefix}conditions`]: "x", mine: "1" };
  const object = newer.create({ metadata: { name: "h", annotations }, spec: { scaleTargetRef, maxReplicas: 3 } });
  assert.deepEqual(object.metadata.annotations, { mine: "1" });
});

test("metrics of unknown types can be stored, read and listed", () => {
  const { toHub, fromHub } = older.definition.conversion!;
  const shown = fromHub(toHub(createAutoscaler({ [`${prefix}metrics`]: "[null]" })));
  assert.deepEqual(shown.metadata.annotations, { [`${prefix}metrics`]: '[{"type":""}]' });
  assert.equal(older.row(shown)["Targets"], ": <unknown>/<auto>");
});

test("the older version says how many pods there are, even none", () => {
  const object = newer.create({ metadata: { name: "h" }, spec: { scaleTargetRef, maxReplicas: 3 } });
  assert.deepEqual(older.definition.conversion!.fromHub(object)["status"], { currentReplicas: 0, desiredReplicas: 0 });
});

test("the newer version leaves out that there are none", () => {
  const object = createAutoscaler({});
  const { toHub } = older.definition.conversion!;
  const status = (currentReplicas: number): object =>
    toHub({ ...object, status: { currentReplicas, desiredReplicas: 0 } })["status"] as object;
  assert.deepEqual(status(0), { desiredReplicas: 0, currentMetrics: null });
  assert.deepEqual(status(2), { currentReplicas: 2, desiredReplicas: 0, currentMetrics: null });
});

test("the target of the newer version's default is that of the older one, unless annotations hold metrics", () => {
  const target = (annotations: Readonly<Record<string, string>>): unknown => {
    return (createAutoscaler(annotations)["spec"] as Record<string, unknown>)["targetCPUUtilizationPercentage"];
  };
  assert.equal(target({}), 80);
  const metrics = '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]';
  assert.equal(target({ [`${prefix}metrics`]: metrics }), undefined);
});
