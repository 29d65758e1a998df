/** The part of an object that a manager has applied, by example. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appliedPart, hasAtomicConditions } from "./owned-fields.ts";

const object = {
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a", labels: { mine: "1", other: "2" }, finalizers: ["x.com/a", "x.com/b"] },
  spec: {
    ports: [
      { port: 80, protocol: "TCP", name: "web" },
      { port: 53, protocol: "UDP" },
    ],
    list: [1, 2],
    empty: {},
    nothing: null,
  },
};

const entry = (fieldsV1: object, more: object = {}) => ({
  manager: "me",
  operation: "Apply" as const,
  apiVersion: "v1",
  fieldsV1: fieldsV1 as Record<string, unknown>,
  ...more,
});

const partOf = (fields: object, more: object = {}): unknown =>
  appliedPart({ ...object, metadata: { ...object.metadata, managedFields: [entry(fields, more)] } }, "me");

void test("fields, items with keys, items with values and whole values are owned", () => {
  const fields = {
    "f:metadata": { "f:labels": { "f:mine": {} }, "f:finalizers": { 'v:"x.com/b"': {} } },
    "f:spec": {
      "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {}, "f:protocol": {} } },
      "f:list": {},
      "f:empty": {},
      "f:nothing": {},
      "f:absent": {},
    },
  };
  assert.deepEqual(partOf(fields), {
    metadata: { labels: { mine: "1" }, finalizers: ["x.com/b"] },
    spec: { ports: [{ port: 80, protocol: "TCP" }], list: [1, 2], empty: {}, nothing: null },
  });
});

void test("other managers, updates, subresources and versions are not what was applied", () => {
  assert.equal(partOf({ "f:spec": {} }, { manager: "other" }), undefined);
  assert.equal(partOf({ "f:spec": {} }, { operation: "Update" }), undefined);
  assert.equal(partOf({ "f:spec": {} }, { subresource: "status" }), undefined);
  assert.equal(partOf({ "f:spec": {} }, { apiVersion: "v2" }), undefined);
});

void test("conditions are one value when somebody owns them as a whole", () => {
  const withConditions = (fields: object) => ({
    metadata: { managedFields: [entry({ "f:status": { "f:conditions": fields } })] },
  });
  assert.equal(hasAtomicConditions(withConditions({})), true);
  assert.equal(hasAtomicConditions(withConditions({ 'k:{"type":"Ready"}': {} })), false);
  assert.equal(hasAtomicConditions({ metadata: {} }), false);
});
