/** The rules of volume attributes classes, by the rows of the requirements. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const classes = kindUnderTest({ group: "storage.k8s.io", version: "v1beta1", kind: "VolumeAttributesClass" });
const attributesClass = (more: object = {}): Unstructured => ({
  metadata: { name: "v1", creationTimestamp: null },
  driverName: "d.example.com",
  parameters: { iops: "100" },
  ...more,
});

test("a class is cluster-scoped and kept as sent [VAC-01] [VAC-11] [VAC-14]", () => {
  const object = attributesClass({ parameters: { iops: "100", empty: "", json: '{"a": [1]}' } });
  assert.deepEqual(classes.refuseCreate(object), []);
  assert.deepEqual(classes.create(object), object);
  assert.equal(classes.definition.namespaced, false);
  assert.equal(classes.definition.listKind, "VolumeAttributesClassList");
});

test("the driver is required [VAC-03]", () => {
  assert.deepEqual(classes.refuseCreate(attributesClass({ driverName: "" })), ["driverName: Required value"]);
  assert.deepEqual(classes.refuseCreate(attributesClass({ driverName: "A.b/C" })), []);
  assert.deepEqual(classes.refuseCreate(attributesClass({ driverName: "A_" })), [
    `driverName: Invalid value: "a_": ${qualifiedName("a_")[0]}`,
  ]);
});

test("parameters are required, with at least one pair and no empty key [VAC-05] [VAC-07] [VAC-08]", () => {
  const none = ["parameters: Required value: must contain at least one key/value pair"];
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: undefined })), none);
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: {} })), none);
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: { "": "x" } })), [
    'parameters: Invalid value: "": field can not be empty.',
  ]);
});

test("parameters have at most 512 entries [VAC-09]", () => {
  const count = (entries: number) => Object.fromEntries(Array.from({ length: entries }, (_, i) => [`k${i}`, ""]));
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: count(512) })), []);
  assert.equal(classes.refuseCreate(attributesClass({ parameters: count(513) })).length, 1);
});

test("parameters are at most 256 KiB together [VAC-10]", () => {
  const parametersOfSize = (bytes: number) => ({ k: "x".repeat(bytes - 1) });
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: parametersOfSize(262_144) })), []);
  assert.deepEqual(classes.refuseCreate(attributesClass({ parameters: parametersOfSize(262_145) })), [
    "parameters: Too long: may not be more than 262144 bytes",
  ]);
});

test("driver and parameters never change, metadata may [VAC-04] [VAC-06] [VAC-12]", () => {
  const old = attributesClass();
  const refuse = (more: object) => classes.refuseUpdate(attributesClass(more), old);
  assert.deepEqual(refuse({ metadata: { name: "v1", labels: { a: "b" } } }), []);
  assert.deepEqual(refuse({ driverName: "other.example.com" }), [
    "driverName: Forbidden: updates to driverName are forbidden.",
  ]);
  for (const parameters of [{ iops: "200" }, { iops: "100", more: "1" }, { other: "1" }]) {
    assert.deepEqual(refuse({ parameters }), ["parameters: Forbidden: updates to parameters are forbidden."]);
  }
  assert.deepEqual(refuse({ parameters: { "": "x" } }), [
    'parameters: Invalid value: "": field can not be empty.',
    "parameters: Forbidden: updates to parameters are forbidden.",
  ]);
});

test("a table marks the default class [PVC-38]", () => {
  assert.deepEqual(classes.row(attributesClass()), { Name: "v1", DriverName: "d.example.com", Age: "<unknown>" });
  const annotations = { "volumeattributesclass.kubernetes.io/is-default-class": "true" };
  assert.equal(classes.row(attributesClass({ metadata: { name: "v1", annotations } }))["Name"], "v1 (default)");
});
