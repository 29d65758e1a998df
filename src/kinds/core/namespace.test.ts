/** Rules of namespaces. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const namespaces = kindUnderTest({ group: "", version: "v1", kind: "Namespace" });
const namespace = namespaces.create({
  metadata: { name: "a", labels: { team: "x" } },
  spec: {},
  status: { phase: "Terminating" },
});

test("a new namespace is active, has its name as a label and the finalizer of the server [EP-08]", () => {
  assert.deepEqual(namespace, {
    metadata: { name: "a", creationTimestamp: null, labels: { team: "x", "kubernetes.io/metadata.name": "a" } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  });
});

test("a generated name becomes the label too", () => {
  const unnamed = namespaces.create({ metadata: { generateName: "a-" } });
  assert.equal(unnamed.metadata.labels, undefined);
  const named = namespaces.definition.strategy.canonicalize!({ metadata: { name: "a-x" } }, false);
  assert.deepEqual(named.metadata.labels, { "kubernetes.io/metadata.name": "a-x" });
});

test("only finalize writes the finalizers and only status the status [EP-16]", () => {
  const changed: Unstructured = {
    ...namespace,
    spec: { finalizers: ["example.com/x"] },
    status: { phase: "Terminating" },
  };
  assert.deepEqual(namespaces.update(changed, namespace), namespace);
  assert.deepEqual(namespaces.update(changed, namespace, "finalize"), {
    ...namespace,
    spec: { finalizers: ["example.com/x"] },
  });
  assert.deepEqual(namespaces.update(changed, namespace, "status"), { ...namespace, status: { phase: "Terminating" } });
});

test("finalizers have names with a domain, or the standard ones", () => {
  const check = (finalizers: string[]) =>
    namespaces.refuseUpdate({ ...namespace, spec: { finalizers } }, namespace, "finalize");
  assert.deepEqual(check(["kubernetes", "example.com/x"]), []);
  assert.deepEqual(check(["mine"]), [
    'spec.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
  assert.equal(check(["bad name"]).length, 1);
});

test("the phase follows the deletion mark", () => {
  const marked = { ...namespace, metadata: { ...namespace.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const ending = namespaces.definition.strategy.terminate!(marked, namespace);
  assert.deepEqual(ending["status"], { phase: "Terminating" });
  assert.deepEqual(namespaces.definition.strategy.pendingFinalizers!(ending), ["kubernetes"]);
  assert.deepEqual(namespaces.refuseUpdate({ ...namespace, status: { phase: "Terminating" } }, namespace, "status"), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
  assert.deepEqual(namespaces.refuseUpdate({ ...ending, status: { phase: "Active" } }, ending, "status"), [
    "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
  ]);
});

test("a table shows name, phase and age [TABLE-04]", () => {
  const object = { ...namespace, metadata: { ...namespace.metadata, creationTimestamp: "2026-01-01T00:00:00Z" } };
  assert.deepEqual(namespaces.row(object, Date.parse("2026-01-01T00:05:30Z")), {
    Name: "a",
    Status: "Active",
    Age: "5m30s",
  });
  assert.deepEqual(namespaces.definition.strategy.fields!(object), { "status.phase": "Active" });
});
