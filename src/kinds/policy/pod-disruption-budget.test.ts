/** Rules of disruption budgets, with messages recorded from a 1.32 server; specs are shown as JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const budgets = kindUnderTest({ group: "policy", version: "v1", kind: "PodDisruptionBudget" });
const metadata = { name: "a" };
const selector = { matchLabels: { app: "x" } };
const stored = { metadata, spec: { minAvailable: 1, selector } };

const refusesSpec = (spec: object, ...expected: readonly string[]): void =>
  assert.deepEqual(budgets.refuseCreate({ metadata, spec }), expected);
const refusesStatus = (status: object, ...expected: readonly string[]): void =>
  assert.deepEqual(budgets.refuseUpdate({ ...stored, status }, stored, "status"), expected);

const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

test("a budget says at most one of the pods that stay and the pods that may be missing", () => {
  refusesSpec({});
  refusesSpec({ minAvailable: 0, selector: {} });
  refusesSpec({ maxUnavailable: "100%", selector });
  refusesSpec(
    { minAvailable: 1, maxUnavailable: "2%" },
    'spec: Invalid value: {"minAvailable":1,"maxUnavailable":"2%"}: minAvailable and maxUnavailable cannot be both set',
  );
});

test("minAvailable and maxUnavailable are numbers, or percentages of at most 100", () => {
  for (const name of ["minAvailable", "maxUnavailable"]) {
    refusesSpec({ [name]: -1 }, `spec.${name}: Invalid value: -1: must be greater than or equal to 0`);
    refusesSpec({ [name]: "101%" }, `spec.${name}: Invalid value: "101%": must not be greater than 100%`);
    refusesSpec(
      { [name]: "10" },
      `spec.${name}: Invalid value: "10": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
    );
  }
});

test("unhealthy pods are evicted by a known policy", () => {
  refusesSpec({ unhealthyPodEvictionPolicy: "IfHealthyBudget" });
  refusesSpec({ unhealthyPodEvictionPolicy: "AlwaysAllow" });
  for (const policy of ["", "alwaysAllow"]) {
    refusesSpec(
      { unhealthyPodEvictionPolicy: policy },
      `spec.unhealthyPodEvictionPolicy: Unsupported value: "${policy}": supported values: "AlwaysAllow", "IfHealthyBudget"`,
    );
  }
});

test("selectors are strict", () => {
  const matchExpressions = [
    { key: "k", operator: "In", values: ["a b"] },
    { key: "k", operator: "Exists", values: ["a"] },
    { key: "k", operator: "In" },
    { key: "k", operator: "Foo" },
  ];
  refusesSpec(
    { selector: { matchLabels: { a: "c d" }, matchExpressions } },
    `spec.selector.matchLabels: Invalid value: "c d": ${labelValue}`,
    `spec.selector.matchExpressions[0].values[0]: Invalid value: "a b": ${labelValue}`,
    "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    "spec.selector.matchExpressions[2].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    'spec.selector.matchExpressions[3].operator: Invalid value: "Foo": not a valid selector operator',
  );
});

test("everything in a spec may change, by the same rules", () => {
  const other = { maxUnavailable: "7%", selector: {}, unhealthyPodEvictionPolicy: "AlwaysAllow" };
  assert.deepEqual(budgets.refuseUpdate({ metadata, spec: other }, stored), []);
  assert.deepEqual(budgets.refuseUpdate({ metadata, spec: { maxUnavailable: -1 } }, stored), [
    "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

test("values of expressions that were invalid before may stay invalid", () => {
  const withValue = (value: string): object => ({ matchExpressions: [{ key: "k", operator: "In", values: [value] }] });
  const next = { metadata, spec: { minAvailable: 1, selector: withValue("a b") } };
  assert.deepEqual(budgets.refuseUpdate(next, { metadata, spec: { selector: withValue("c d") } }), []);
  const message = `spec.selector.matchExpressions[0].values[0]: Invalid value: "a b": ${labelValue}`;
  assert.deepEqual(budgets.refuseUpdate(next, { metadata, spec: { selector: withValue("c") } }), [message]);
  assert.deepEqual(budgets.refuseUpdate(next, { metadata, spec: {} }), [message]);
});

test("counters of a status are not negative", () => {
  const counters = { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 };
  refusesStatus(counters);
  refusesStatus(
    { disruptionsAllowed: -1, currentHealthy: -2, desiredHealthy: -3, expectedPods: -4, observedGeneration: -5 },
    "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
    "status.currentHealthy: Invalid value: -2: must be greater than or equal to 0",
    "status.desiredHealthy: Invalid value: -3: must be greater than or equal to 0",
    "status.expectedPods: Invalid value: -4: must be greater than or equal to 0",
  );
  refusesStatus({ ...counters, disruptedPods: { "a b": "2020-01-01T00:00:00Z", "": "2020-01-01T00:00:00Z" } });
});

test("conditions of a status are checked before its counters", () => {
  const condition = {
    type: "A",
    status: "maybe",
    reason: "R",
    message: "",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  };
  refusesStatus(
    { disruptionsAllowed: -1, conditions: [condition] },
    'status.conditions[0].status: Unsupported value: "maybe": supported values: "False", "True", "Unknown"',
    "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
  );
});

test("a write of the status does not check the spec", () => {
  const old = { metadata, spec: { minAvailable: -1, maxUnavailable: -1 } };
  assert.deepEqual(budgets.refuseUpdate({ ...old, status: { disruptionsAllowed: 1 } }, old, "status"), []);
});

test("a table shows the numbers", () => {
  const row = budgets.row({ ...stored, status: { disruptionsAllowed: 3 } });
  assert.deepEqual(row, {
    Name: "a",
    "Min Available": "1",
    "Max Unavailable": "N/A",
    "Allowed Disruptions": 3,
    Age: "<unknown>",
  });
});
