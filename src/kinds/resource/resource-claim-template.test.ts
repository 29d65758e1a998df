/** The rules of claim templates, by the rows of the requirements. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const templates = kindUnderTest({ group: "resource.k8s.io", version: "v1beta1", kind: "ResourceClaimTemplate" });
const request = { name: "d", deviceClassName: "x" };
const template = (devices: object = { requests: [request] }, metadata: object = {}): Unstructured => ({
  metadata: { name: "r1", namespace: "n" },
  spec: { metadata: { creationTimestamp: null, ...metadata }, spec: { devices } },
});

test("a template asks for one device of a class by default [RCT-01] [RCT-09] [RCT-13]", () => {
  assert.deepEqual(templates.refuseCreate(template()), []);
  const object = templates.create(template())["spec"] as { spec: object };
  assert.deepEqual(object.spec, { devices: { requests: [{ ...request, allocationMode: "ExactCount", count: 1 }] } });
  assert.equal(templates.definition.namespaced, true);
  assert.equal(templates.definition.listKind, "ResourceClaimTemplateList");
});

test("the spec and the claim's spec are required [RCT-03] [RCT-08]", () => {
  const empty = { metadata: { creationTimestamp: null }, spec: { devices: {} } };
  for (const spec of [undefined, {}, empty]) {
    assert.deepEqual(templates.refuseCreate({ metadata: { name: "r1" }, spec }), ["spec.spec: Required value"]);
  }
});

test("the spec never changes, metadata may [RCT-04] [RCT-05]", () => {
  const old = templates.create(template());
  const labelled = { ...template(), metadata: { ...old.metadata, labels: { a: "b" } } };
  assert.deepEqual(templates.refuseUpdate(labelled, old), []);
  const errors = templates.refuseUpdate(template({ requests: [{ ...request, name: "other" }] }), old);
  assert.equal(errors.length, 1);
  assert.match(errors[0]!, /^spec: Invalid value: .*: field is immutable$/);
});

test("the metadata of the claim may have labels and annotations only [RCT-10] [RCT-11]", () => {
  const check = (metadata: object) => templates.refuseCreate(template(undefined, metadata));
  assert.deepEqual(check({ labels: { a: "b" }, annotations: { c: "d" } }), []);
  assert.deepEqual(check({ name: "x", finalizers: ["a/b"] }), [
    "spec.metadata.name: Forbidden: cannot be set",
    "spec.metadata.finalizers: Forbidden: cannot be set",
  ]);
  assert.equal(check({ labels: { "bad key": "" } }).length, 1);
});

test("requests, constraints and settings of devices are checked", () => {
  const check = (devices: object, ...expected: (string | RegExp)[]) => {
    const refused = templates.refuseCreate(template(devices));
    assert.equal(refused.length, expected.length, refused.join("\n"));
    for (const [index, pattern] of expected.entries()) assert.match(refused[index]!, new RegExp(pattern));
  };
  const at = "spec.spec.devices";
  check(
    { requests: [{}] },
    `${at}.requests\\[0\\].name: Invalid value: ""`,
    `${at}.requests\\[0\\].deviceClassName: Required`,
  );
  check({ requests: [request, request] }, `${at}.requests\\[1\\].name: Duplicate value: "d"`);
  check(
    { requests: [{ ...request, allocationMode: "Some" }] },
    'Unsupported value: "Some": supported values: "All", "ExactCount"',
  );
  check({ requests: [{ ...request, allocationMode: "All", count: 2 }] }, "count: Invalid value: 2");
  check({ requests: [{ ...request, count: -1 }] }, "count: Invalid value: -1: must be greater than zero");
  check({ requests: [{ ...request, selectors: [{}] }] }, "selectors\\[0\\].cel: Required");
  check(
    { requests: [request], constraints: [{ requests: ["e"], matchAttribute: "a" }] },
    "must be the name of a request in the claim",
    'matchAttribute: Invalid value: "a": must include a domain',
  );
  check(
    { requests: [request], config: [{ requests: ["d"], opaque: { driver: "d.example.com", parameters: "x" } }, {}] },
    "config\\[0\\].opaque.parameters: Invalid value",
    "config\\[1\\].opaque: Required",
  );
  const many = Array.from({ length: 33 }, (_, i) => ({ ...request, name: `d${i}` }));
  check({ requests: many }, `${at}.requests: Too many: 33: must have at most 32 items`);
});
