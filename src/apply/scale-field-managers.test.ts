/** Managers of `replicas`, as the object and its scale show them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { parentManagedFields, type ReplicasPath, scaleManagedFields } from "./scale-field-managers.ts";

const apps: ReplicasPath = (apiVersion) => (apiVersion === "apps/v1" ? ["f:spec", "f:replicas"] : undefined);
const nested: ReplicasPath = (apiVersion) =>
  apiVersion === "example.com/v1"
    ? ["f:spec", "f:size", "f:count"]
    : apiVersion === "example.com/v2"
      ? null
      : undefined;

const entry = (
  manager: string,
  operation: "Apply" | "Update",
  apiVersion: string,
  fieldsV1: Readonly<Record<string, unknown>>,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({ manager, operation, apiVersion, fieldsType: "FieldsV1", fieldsV1, ...more });

const time = "2024-01-01T00:00:00Z";
const replicas = { "f:spec": { "f:replicas": {} } };

test("a scale shows the managers of the replicas only", () => {
  const parent = [
    entry("applier", "Apply", "apps/v1", { "f:spec": { "f:paused": {}, "f:replicas": {} } }, { time }),
    entry("labeller", "Update", "apps/v1", { "f:metadata": { "f:labels": { "f:a": {} } } }, { time }),
    entry("old", "Update", "extensions/v1beta1", replicas, { time }),
  ];
  assert.deepEqual(scaleManagedFields(parent, apps), [entry("applier", "Apply", "autoscaling/v1", replicas, { time })]);
  assert.equal(scaleManagedFields(undefined, apps), undefined);
});

test("a write of a scale takes the replicas from their managers", () => {
  const both = { "f:spec": { "f:paused": {}, "f:replicas": {} } };
  const parent = [entry("maker", "Update", "apps/v1", both, { time })];
  const scale = [entry("scaler", "Update", "autoscaling/v1", replicas, { time, subresource: "scale" })];
  assert.deepEqual(parentManagedFields(parent, scale, apps, "apps/v1"), [
    entry("scaler", "Update", "apps/v1", replicas, { subresource: "scale" }),
    entry("maker", "Update", "apps/v1", { "f:spec": { "f:paused": {} } }, { time }),
  ]);
});

test("an applier that keeps the number of replicas keeps its entry; one that owned nothing else loses its entry", () => {
  const parent = [entry("applier", "Apply", "apps/v1", replicas, { time })];
  const entries = scaleManagedFields(parent, apps);
  assert.equal(parentManagedFields(parent, entries, apps, "apps/v1"), parent);
  assert.equal(parentManagedFields(parent, undefined, apps, "apps/v1"), undefined);
});

test("the number of a custom resource may lie anywhere, or nowhere in another version", () => {
  const deep = { "f:spec": { "f:size": { "f:count": {}, "f:unit": {} } } };
  const other = entry("other", "Update", "example.com/v2", replicas, { time });
  const parent = [entry("maker", "Update", "example.com/v1", deep, { time }), other];
  assert.deepEqual(scaleManagedFields(parent, nested), [
    entry("maker", "Update", "autoscaling/v1", replicas, { time }),
  ]);
  const scale = [entry("scaler", "Update", "autoscaling/v1", replicas, { time, subresource: "scale" })];
  assert.deepEqual(parentManagedFields(parent, scale, nested, "example.com/v1"), [
    entry(
      "scaler",
      "Update",
      "example.com/v1",
      { "f:spec": { "f:size": { "f:count": {} } } },
      { subresource: "scale" },
    ),
    entry("maker", "Update", "example.com/v1", { "f:spec": { "f:size": { "f:unit": {} } } }, { time }),
    other,
  ]);
});
