/** The findings of kube-apiserver 1.32.1 about priority classes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const classes = kindUnderTest({ group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass" });
const priorityClass = (more: object = {}, name = "p"): Unstructured => ({ metadata: { name }, value: 5, ...more });

const highest = "value: Forbidden: maximum allowed value of a user defined priority is 1000000000";
const reservedFinding = (problem: string): string =>
  `metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;

test("only the system's own classes have the highest priorities", () => {
  const refuses = (name: string, more: object, ...expected: readonly string[]): void =>
    assert.deepEqual(classes.refuseCreate(priorityClass(more, name)), expected);
  refuses("p", { value: 1_000_000_000 });
  refuses("p", { value: 1_000_000_001 }, highest);
  const node = "system-node-critical";
  refuses(node, { value: 2_000_001_000, preemptionPolicy: "Never" });
  refuses(node, { value: 5 }, reservedFinding(`value of ${node} PriorityClass must be 2000001000`));
  refuses(
    node,
    { value: 2_000_001_000, globalDefault: true },
    reservedFinding(`globalDefault of ${node} PriorityClass must be false`),
  );
  refuses("system-a", {}, reservedFinding("system-a is not a known system priority class"));
});

test("the policy is a known one; neither it nor the value changes", () => {
  const supported = 'supported values: "PreemptLowerPriority", "Never"';
  assert.deepEqual(classes.refuseCreate(priorityClass({ preemptionPolicy: "" })), ["preemptionPolicy: Required value"]);
  assert.deepEqual(classes.refuseCreate(priorityClass({ value: 1_000_000_001, preemptionPolicy: "X" })), [
    highest,
    `preemptionPolicy: Unsupported value: "X": ${supported}`,
  ]);
  const old = classes.create(priorityClass());
  assert.deepEqual(classes.refuseUpdate({ ...old, value: 6, preemptionPolicy: "X" }, old), [
    "value: Forbidden: may not be changed in an update.",
    'preemptionPolicy: Invalid value: "X": field is immutable',
  ]);
  assert.deepEqual(classes.refuseUpdate({ ...old, globalDefault: true, description: "d" }, old), []);
});

test("the generation stays 1", () => {
  const old = classes.create(priorityClass({}));
  assert.equal(classes.definition.generation, false);
  assert.equal(old.metadata.generation, 1);
  assert.equal(classes.update({ ...old, description: "d" }, old).metadata.generation, 1);
});
