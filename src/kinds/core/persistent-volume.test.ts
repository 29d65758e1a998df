/** What kube-apiserver 1.32.1 says about the attributes classes of volumes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const kind = { group: "", version: "v1", kind: "PersistentVolume" };
const on = kindUnderTest(kind, { gates: ["VolumeAttributesClass"] });
const off = kindUnderTest(kind);
const csi = { driver: "csi.example.com", volumeHandle: "x" };
const volume = (spec: object): Unstructured => ({
  metadata: { name: "v" },
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...spec },
});
const classed = volume({ csi, volumeAttributesClassName: "a" });
const path = "spec.volumeAttributesClassName";

test("a class has a name, and a driver that knows it", () => {
  assert.deepEqual(on.refuseCreate(classed), []);
  assert.deepEqual(on.refuseCreate(volume({ nfs: { server: "s", path: "/" }, volumeAttributesClassName: "" })), [
    `${path}: Required value: an empty string is disallowed`,
    "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
  ]);
  assert.match(
    on.refuseCreate(volume({ csi, volumeAttributesClassName: "A_" }))[0]!,
    /^spec\.\w+: Invalid value: "A_"/,
  );
});

test("a class changes while there are classes, and does not go", () => {
  const other = volume({ csi, volumeAttributesClassName: "b" });
  const bare = volume({ csi });
  assert.deepEqual(on.refuseUpdate(other, classed), []);
  assert.deepEqual(on.refuseUpdate(bare, classed), [
    `${path}: Forbidden: update from non-nil value to nil is forbidden`,
  ]);
  assert.deepEqual(off.refuseUpdate(classed, classed), []);
  assert.deepEqual(off.refuseUpdate(other, bare), []); // it is dropped
  assert.deepEqual(off.refuseUpdate(other, classed), [
    `${path}: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled`,
  ]);
});
