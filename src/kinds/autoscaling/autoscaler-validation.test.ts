/** Validation of horizontal pod autoscalers, with the messages of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const kind = { group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" };
const v2 = kindUnderTest(kind);
const v1 = kindUnderTest({ ...kind, version: "v1" });

type Fields = Readonly<Record<string, unknown>>;

const autoscaler = (fields: Fields) => ({
  metadata: { name: "a" },
  spec: { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 3, ...fields },
});
const refuse = (fields: Fields): string[] => v2.refuseCreate(autoscaler(fields));
const metric = (fields: Fields): string[] => refuse({ metrics: [fields] });

test("an autoscaler has a target, and a lowest and a highest number of replicas", () => {
  assert.deepEqual(refuse({}), []);
  assert.deepEqual(refuse({ minReplicas: -1, maxReplicas: -2, scaleTargetRef: { kind: "a/b", name: "" } }), [
    "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1",
    "spec.maxReplicas: Invalid value: -2: must be greater than 0",
    "spec.maxReplicas: Invalid value: -2: must be greater than or equal to `minReplicas`",
    "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
    "spec.scaleTargetRef.name: Required value",
  ]);
});

test("only a metric of something else lets nothing run, where the gate allows it", () => {
  const external = { type: "External", external: { metric: { name: "m" }, target: { type: "Value", value: "1" } } };
  const { refuseCreate, refuseUpdate } = kindUnderTest(kind, { gates: ["HPAScaleToZero"] });
  assert.deepEqual(refuseCreate(autoscaler({ minReplicas: 0, metrics: [external] })), []);
  assert.deepEqual(refuseCreate(autoscaler({ minReplicas: 0 })), [
    "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
  ]);
  const old = v2.create(autoscaler({ minReplicas: 0, metrics: [external] }));
  assert.deepEqual(v2.refuseUpdate(old, old), []);
  assert.deepEqual(refuseUpdate(old, old), []);
});

test("a metric has the source of its type alone", () => {
  const types = '"ContainerResource", "External", "Object", "Pods", "Resource"';
  const unknown = `spec.metrics[0].type: Unsupported value: "Foo": supported values: ${types}`;
  assert.deepEqual(metric({ type: "Foo" }), [unknown]);
  assert.deepEqual(metric({ type: "Pods" }), [
    "spec.metrics[0].pods: Required value: must populate information for the given metric source",
  ]);
  const resource = { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } };
  const pods = { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } };
  assert.deepEqual(metric({ type: "Resource", resource, pods }), [
    "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
  ]);
});

test("the target of a metric is positive, and of a kind that its source has", () => {
  const resource = (target: Fields): string[] => metric({ type: "Resource", resource: { name: "cpu", target } });
  const path = "spec.metrics[0].resource.target";
  assert.deepEqual(resource({ type: "Foo" }), [
    `${path}.type: Invalid value: "Foo": must be either Utilization, Value, or AverageValue`,
    `${path}.averageUtilization: Required value: must set either a target raw value or a target utilization`,
  ]);
  assert.deepEqual(resource({ type: "AverageValue", averageValue: "-5" }), [
    `${path}.averageValue: Invalid value: "-5": must be positive`,
  ]);
});

test("rules of scaling have bounds", () => {
  const policies = [{ type: "Foo", value: 0, periodSeconds: 1801 }];
  const path = "spec.behavior.scaleUp";
  assert.deepEqual(
    refuse({ behavior: { scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: "Foo", policies } } }),
    [
      `${path}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600`,
      `${path}.selectPolicy: Unsupported value: "Foo": supported values: "Disabled", "Max", "Min"`,
      `${path}.policies[0].type: Unsupported value: "Foo": supported values: "Percent", "Pods"`,
      `${path}.policies[0].value: Invalid value: 0: must be greater than zero`,
      `${path}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`,
    ],
  );
});

test("version 1 is checked as the version that is stored", () => {
  assert.deepEqual(v1.refuseCreate(autoscaler({ targetCPUUtilizationPercentage: 0 })), [
    "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
  ]);
});

test("of several sources the first is looked at, whichever the type names", () => {
  const target = { type: "AverageValue", averageValue: "1" };
  const containerResource = { name: "", container: "", target };
  const pods = { metric: { name: "" }, target };
  assert.deepEqual(metric({ type: "ContainerResource", containerResource, pods }), [
    "spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
    "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
  ]);
});

test("the resource and the container of a metric have names as pods have them", () => {
  const target = { type: "AverageValue", averageValue: "1" };
  const wrong = { name: "Bad_Name", container: "a/b", target };
  const errors = metric({ type: "ContainerResource", containerResource: wrong });
  const path = "spec.metrics[0].containerResource";
  assert.deepEqual(errors.slice(0, 2), [
    `${path}.name: Invalid value: Bad_Name: must be a standard resource type or fully qualified`,
    `${path}.name: Invalid value: Bad_Name: must be a standard resource for containers`,
  ]);
  assert.match(errors[2]!, /container: Invalid value: "a\/b": a lowercase RFC 1123 label/);
  assert.equal(errors.length, 3);
});

test("of several sources those that the type does not name are refused, whether its own is there or not", () => {
  const target = { type: "AverageValue", averageValue: "1" };
  const source = { metric: { name: "m" }, target };
  const forbidden = (name: string): string =>
    `spec.metrics[0].${name}: Forbidden: must populate the given metric source only`;
  const missing = "spec.metrics[0].resource: Required value: must populate information for the given metric source";
  assert.deepEqual(metric({ type: "Resource", pods: source }), [missing]);
  assert.deepEqual(metric({ type: "Resource", pods: source, external: source }), [
    missing,
    forbidden("external"),
    forbidden("pods"),
  ]);
  const unknown = metric({ type: "Other", pods: source, external: source });
  assert.deepEqual(unknown.slice(1), [forbidden("external"), forbidden("pods")]);
});
