/** The findings of kube-apiserver 1.32.1 about the storage drivers of nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Subdomain, qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const nodes = kindUnderTest({ group: "storage.k8s.io", version: "v1", kind: "CSINode" });
const csiNode = (...drivers: readonly object[]): Unstructured => ({ metadata: { name: "n" }, spec: { drivers } });
const refuses = (drivers: readonly object[], ...expected: readonly string[]): void =>
  assert.deepEqual(nodes.refuseCreate(csiNode(...drivers)), expected);

test("a driver has a name of its own, and an id of the node", () => {
  refuses([]);
  refuses([
    { name: "A.b", nodeID: "x".repeat(256) },
    { name: "a.b", nodeID: "y", allocatable: {} },
  ]);
  refuses(
    [{}, { name: "a_", nodeID: "x" }, { name: "x".repeat(64), nodeID: "x" }, { name: "a_", nodeID: "x" }],
    "spec.drivers[0].name: Required value",
    `spec.drivers[0].name: Invalid value: "": ${dns1123Subdomain("")[0]}`,
    "spec.drivers[0].nodeID: Required value",
    `spec.drivers[1].name: Invalid value: "a_": ${dns1123Subdomain("a_")[0]}`,
    "spec.drivers[2].name: Too long: may not be more than 63 bytes",
    `spec.drivers[3].name: Invalid value: "a_": ${dns1123Subdomain("a_")[0]}`,
    'spec.drivers[3].name: Duplicate value: "a_"',
  );
  const long = "é".repeat(129);
  refuses(
    [{ name: "a", nodeID: long }],
    `spec.drivers[0].nodeID: Invalid value: "${long}": must be 256 characters or less`,
  );
});

test("counts are not negative, and topology keys are names, each once", () => {
  refuses(
    [{ name: "a", nodeID: "x", allocatable: { count: -1 }, topologyKeys: ["c", "", "a b", "c"] }],
    "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    "spec.drivers[0]: Required value",
    ...qualifiedName("").map((message) => `spec.drivers[0]: Invalid value: "": ${message}`),
    `spec.drivers[0]: Invalid value: "a b": ${qualifiedName("a b")[0]}`,
    'spec.drivers[0]: Duplicate value: "c"',
  );
});

test("a driver is immutable, but may be added or removed", () => {
  const a = { name: "a", nodeID: "x", topologyKeys: ["k"] };
  const b = { name: "b", nodeID: "y", topologyKeys: null, allocatable: { count: 1 } };
  const old = csiNode(a, b);
  const refuse = (...drivers: readonly object[]): string[] => nodes.refuseUpdate(csiNode(...drivers), old);
  assert.deepEqual(refuse(b, a), []);
  assert.deepEqual(refuse({ ...a, name: "c" }), []);
  assert.deepEqual(refuse({ ...a, nodeID: "" }, { ...b, allocatable: { count: 2 } }), [
    "spec.drivers[0].nodeID: Required value",
    'CSINodeDriver: Invalid value: {"name":"a","nodeID":"","topologyKeys":["k"]}: field is immutable',
    'CSINodeDriver: Invalid value: {"name":"b","nodeID":"y","topologyKeys":null,"allocatable":{"count":2}}: field is immutable',
  ]);
});
