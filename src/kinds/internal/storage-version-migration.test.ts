/** Storage version migrations, with the findings of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const migrations = kindUnderTest({
  group: "storagemigration.k8s.io",
  version: "v1alpha1",
  kind: "StorageVersionMigration",
});
const resource = { group: "apps", version: "v1", resource: "deployments" };
const migration = (of: object = resource, status: object = {}) => ({
  metadata: { name: "m" },
  spec: { resource: of },
  status,
});

test("a migration names a resource, which stays", () => {
  assert.deepEqual(migrations.refuseCreate(migration()), []);
  assert.deepEqual(migrations.refuseCreate(migration({})), [
    "spec.resource.resource: Required value: resource is required",
    "spec.resource.version: Required value: version is required",
  ]);
  const old = migrations.create(migration());
  assert.deepEqual(migrations.refuseUpdate(migration({ ...resource, group: "batch", resource: "jobs" }), old), [
    'group: Invalid value: "batch": field is immutable',
    'resource: Invalid value: "jobs": field is immutable',
  ]);
});

const condition = (type: string, status = "True") => ({
  type,
  status,
  lastUpdateTime: "2024-01-02T03:04:05Z",
  reason: "R",
});
const refuse = (status: object, old: object = {}): string[] =>
  migrations.refuseUpdate(migration(resource, status), migration(resource, old), "status");

test("a migration succeeds or fails for good", () => {
  assert.deepEqual(refuse({ resourceVersion: "5", conditions: [condition("Running")] }), []);
  const both = refuse({ conditions: [condition("Succeeded"), condition("Failed")] });
  assert.match(both[0]!, /Both success and failed conditions cannot be true at the same time$/);
  const back = refuse({ conditions: [] }, { conditions: [condition("Failed")] });
  assert.match(back[0]!, /Failed condition cannot be set to false once it is true$/);
  assert.deepEqual(refuse({ conditions: [{ ...condition("Running"), reason: "" }, condition("Running")] }), [
    "status.conditions[0].reason: Required value: must be set",
    'status.conditions[1].type: Duplicate value: "Running"',
  ]);
});

test("the version of a migration is a number, and stays", () => {
  assert.deepEqual(refuse({ resourceVersion: "6" }, { resourceVersion: "5" }), [
    'status.resourceVersion: Invalid value: "6": resourceVersion cannot be updated',
  ]);
  const failed = 'status.resourceVersion: Invalid value: "x": failed to parse resource version "x"';
  assert.deepEqual(refuse({ resourceVersion: "x" }), [`${failed}: strconv.ParseInt: parsing "x": invalid syntax`]);
  assert.deepEqual(refuse({ resourceVersion: "-1" }), [
    "status.resourceVersion: Invalid value: -1: must be greater than or equal to 0",
  ]);
});
