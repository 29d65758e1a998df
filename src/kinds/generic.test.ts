/** The status and generation of all kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "./kind-for-tests.ts";

const budgets = kindUnderTest({ group: "policy", version: "v1", kind: "PodDisruptionBudget" });
const deployments = kindUnderTest({ group: "apps", version: "v1", kind: "Deployment" });
const metadata = { name: "x", generation: 3 };
const zeroStatus = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

test("a create drops the status and shows its zero value", () => {
  const budget = budgets.create({ metadata, spec: {}, status: { disruptionsAllowed: 5 } });
  assert.deepEqual(budget["status"], zeroStatus);
});

test("the main resource keeps the old status, the status subresource the old rest [META-21]", () => {
  const old: Unstructured = { metadata, spec: { minAvailable: 1 }, status: { ...zeroStatus, currentHealthy: 1 } };
  const next: Unstructured = {
    metadata: { ...metadata, labels: { a: "b" } },
    spec: { minAvailable: 2 },
    status: { ...zeroStatus, currentHealthy: 2 },
  };
  const main = budgets.update(next, old);
  assert.deepEqual(main["spec"], next["spec"]);
  assert.deepEqual(main["status"], old["status"]);
  const status = budgets.update(next, old, "status");
  assert.deepEqual(status["spec"], old["spec"]);
  assert.deepEqual(status["status"], next["status"]);
  assert.deepEqual(status.metadata.labels, { a: "b" });
});

test("the generation counts changes outside metadata and status [META-21]", () => {
  const old: Unstructured = { metadata, spec: { minAvailable: 1 }, status: { currentHealthy: 1 } };
  const generation = (next: Unstructured, subresource = "") =>
    budgets.update(next, old, subresource).metadata.generation;
  assert.equal(generation(old), 3);
  assert.equal(generation({ ...old, spec: { minAvailable: 2 } }), 4);
  assert.equal(generation({ ...old, spec: {} }), 4);
  assert.equal(generation({ ...old, metadata: { ...metadata, generation: 9, labels: { a: "b" } } }), 3);
  assert.equal(generation({ ...old, status: {}, spec: { minAvailable: 2 } }, "status"), 3);
});

test("annotations of a deployment count, and its labels are not the status's to write", () => {
  const old = deployments.create({ metadata: { ...metadata, labels: { a: "b" } }, spec: {} });
  const noted = { ...old, metadata: { ...old.metadata, annotations: { c: "d" } } };
  assert.equal(deployments.update(noted, old).metadata.generation, 4);
  assert.equal(deployments.update(noted, old, "status").metadata.generation, 3);
  const labelled = { ...old, metadata: { ...old.metadata, labels: { a: "c" } } };
  assert.deepEqual(deployments.update(labelled, old, "status").metadata.labels, { a: "b" });
});
