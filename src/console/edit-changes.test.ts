/** Tests of the fields that an edit changes: lists by their keys, owners, and the configuration to apply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { appliedPart, changedFields } from "./edit-changes.ts";

const before = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "shop",
    resourceVersion: "7",
    managedFields: [
      {
        manager: "helm",
        operation: "Apply",
        fieldsV1: {
          "f:spec": {
            "f:replicas": {},
            "f:containers": {
              'k:{"name":"app"}': { ".": {}, "f:image": {}, "f:name": {} },
              'k:{"name":"log"}': { ".": {}, "f:image": {}, "f:name": {} },
            },
            "f:args": {},
          },
        },
      },
      { manager: "console", operation: "Apply", fieldsV1: { "f:metadata": { "f:labels": { "f:team": {} } } } },
    ],
    labels: { team: "a" },
  },
  spec: {
    replicas: 1,
    args: ["x", "y"],
    containers: [
      { name: "app", image: "i:1" },
      { name: "log", image: "l:1" },
    ],
  },
} satisfies Unstructured;

const shown = (after: Unstructured): readonly string[] =>
  changedFields(before, after).map(
    ({ path, isRemoved, managers }) => `${isRemoved ? "-" : "+"}${path} ${managers.join()}`,
  );

test("an object that stays the same has no changes, whatever the server keeps itself", () => {
  assert.deepEqual(shown({ ...before, metadata: { ...before.metadata, resourceVersion: "8" } }), []);
});

test("items with keys are compared one by one, and the configuration has the key and the field alone", () => {
  const containers = [
    { image: "l:1", name: "log" },
    { name: "app", image: "i:2" },
  ];
  const after = { ...before, spec: { ...before.spec, containers } };
  assert.deepEqual(shown(after), ['+spec.containers[{"name":"app"}].image helm']);
  assert.deepEqual(appliedPart(after, changedFields(before, after)), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", labels: { team: "a" } },
    spec: { containers: [{ name: "app", image: "i:2" }] },
  });
});

test("lists without keys are one value, and fields that are gone are named with their managers", () => {
  const { replicas: _, ...spec } = { ...before.spec, args: ["x"] };
  const after = { ...before, spec: { ...spec, extra: { a: 1 } } };
  assert.deepEqual(shown(after), ["-spec.replicas helm", "+spec.args helm", "+spec.extra "]);
});

test("an item that is gone, and one that is new, are changes of the item", () => {
  const containers = [before.spec.containers[0]!, { name: "new", image: "n:1" }];
  assert.deepEqual(shown({ ...before, spec: { ...before.spec, containers } }), [
    '-spec.containers[{"name":"log"}] helm',
    '+spec.containers[{"name":"new"}] ',
  ]);
});
