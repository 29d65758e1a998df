/** The findings of kube-apiserver 1.32.1 about free space. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dns1123Subdomain } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest, writeAttributes } from "../kind-for-tests.ts";

const capacities = kindUnderTest({ group: "storage.k8s.io", version: "v1", kind: "CSIStorageCapacity" });
const nodeTopology = { matchLabels: { zone: "a" } };
const storageCapacity = (more: object = {}): Unstructured => ({
  metadata: { name: "c", namespace: "n" },
  storageClassName: "fast",
  nodeTopology,
  ...more,
});
const refuses = (more: object, ...expected: readonly string[]): void =>
  assert.deepEqual(capacities.refuseCreate(storageCapacity(more)), expected);

test("capacity is not negative; the largest volume may be", () => {
  refuses({ capacity: "0", maximumVolumeSize: "-1" });
  refuses({ capacity: "-1500m" }, 'capacity: Invalid value: "-1500m": must be greater than or equal to 0');
});

test("nodes are selected by labels, of a class with a name", () => {
  refuses({ nodeTopology: undefined });
  refuses(
    { storageClassName: "", nodeTopology: { matchExpressions: [{ key: "a", operator: "X" }] } },
    'nodeTopology.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator',
    `storageClassName: Invalid value: "": ${dns1123Subdomain("")[0]}`,
  );
});

test("class and topology are immutable", () => {
  const refuse = (more: object): string[] => capacities.refuseUpdate(storageCapacity(more), storageCapacity());
  assert.deepEqual(refuse({ capacity: "1", maximumVolumeSize: "1" }), []);
  assert.deepEqual(refuse({ storageClassName: "slow", nodeTopology: { matchLabels: { zone: "b" } } }), [
    'nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable',
    'storageClassName: Invalid value: "slow": field is immutable',
  ]);
  assert.deepEqual(refuse({ nodeTopology: undefined }), ['nodeTopology: Invalid value: "null": field is immutable']);
});

test("labels that have newer names give warnings", () => {
  const { warningsOnCreate, warningsOnUpdate } = capacities.definition.strategy;
  const key = "beta.kubernetes.io/os";
  const object = storageCapacity({
    nodeTopology: { matchLabels: { a: "b", [key]: "c" }, matchExpressions: [{ key, operator: "Exists" }] },
  });
  const expected = [
    `nodeTopology.matchExpressions[0].key: ${key} is deprecated since v1.14; use "kubernetes.io/os" instead`,
    `nodeTopology.matchLabels.${key}: deprecated since v1.14; use "kubernetes.io/os" instead`,
  ];
  assert.deepEqual(warningsOnCreate!(object, writeAttributes()), expected);
  assert.deepEqual(warningsOnUpdate!(object, object, writeAttributes()), expected);
});
