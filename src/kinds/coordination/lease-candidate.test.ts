/** Lease candidates, with the findings of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";
import { compareVersions, parseVersion } from "./semantic-version.ts";

const candidates = kindUnderTest({ group: "coordination.k8s.io", version: "v1alpha2", kind: "LeaseCandidate" });
const candidate = (more: object) => ({
  metadata: { name: "A_1" },
  spec: {
    leaseName: "l",
    binaryVersion: "1.32.0",
    emulationVersion: "1.31.0",
    strategy: "OldestEmulationVersion",
    ...more,
  },
});
const refuse = (more: object): string[] => candidates.refuseCreate(candidate(more));

test("a candidate has a lease, versions and a strategy", () => {
  assert.deepEqual(refuse({}), []);
  assert.deepEqual(refuse({ strategy: "example.com/x", emulationVersion: undefined }), []);
  assert.deepEqual(refuse({ leaseName: "", binaryVersion: "", strategy: undefined }), [
    "spec.leaseName: Required value",
    "spec.binaryVersion: Required value",
    "spec.strategy: Required value",
  ]);
  assert.deepEqual(refuse({ emulationVersion: undefined }), [
    "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
  ]);
  const least = "must be greater than or equal to `emulationVersion`";
  assert.deepEqual(refuse({ binaryVersion: "1.30.0" }), [`spec.binaryVersion: Invalid value: "1.30.0": ${least}`]);
  assert.deepEqual(refuse({ binaryVersion: "1.32" }), [
    'spec.binaryVersion: Invalid value: "1.32": must be a valid semantic version',
    `spec.binaryVersion: Invalid value: "1.32": ${least}`,
  ]);
});

test("the lease of a candidate stays", () => {
  const old = candidates.create(candidate({}));
  assert.deepEqual(candidates.refuseUpdate(candidate({ leaseName: "m" }), old), [
    'spec.leaseName: Invalid value: "m": field is immutable',
  ]);
});

test("versions are ordered by semver.org", () => {
  const sorted = ["0.0.0", "1.0.0-1", "1.0.0-2", "1.0.0-a", "1.0.0-a.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0"];
  for (const [at, text] of sorted.entries()) {
    for (const [other, against] of sorted.entries()) {
      assert.equal(Math.sign(compareVersions(parseVersion(text), parseVersion(against))), Math.sign(at - other));
    }
  }
  for (const wrong of [
    "",
    "1",
    "1.2",
    "01.2.3",
    "1.2.3-",
    "1.2.3-01",
    "1.2.3+",
    "v1.2.3",
    "1.2.18446744073709551616",
  ]) {
    assert.equal(parseVersion(wrong), undefined, wrong);
  }
});
