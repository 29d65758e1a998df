/** Changes and checks on writes of custom resources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printFieldError } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { updateStrategy } from "#registry/resource-definition.ts";
import type { JsonSchemaProps } from "#schema/structural.ts";
import { customStrategy, type CustomStrategyOptions } from "./custom-strategy.ts";
import { CustomVersion } from "./custom-version.ts";

const schema: JsonSchemaProps = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { n: { type: "integer", minimum: 1 }, a: { type: "string" } } },
    status: { type: "object", properties: { n: { type: "integer", minimum: 1 }, s: { type: "string" } } },
  },
};

const strategy = (more: Partial<CustomStrategyOptions> = {}) =>
  customStrategy({
    group: "example.com",
    resource: "widgets",
    version: new CustomVersion({ type: "object", fields: new Map() }, () => schema),
    hasStatus: true,
    scale: undefined,
    selectable: [],
    isTerminating: false,
    ...more,
  });

const context = {} as RequestContext; // no hook of this kind looks at it
const main = { context, subresource: "", dryRun: false };
const status = { context, subresource: "status", dryRun: false };

const object = (fields: object, generation = 3): Unstructured => ({
  kind: "Widget",
  apiVersion: "example.com/v1",
  metadata: { name: "x", generation },
  ...fields,
});

test("the main path leaves the status alone and counts changes of everything but metadata [EP-22] [META-21]", () => {
  const old = object({ spec: { a: "1" }, status: { s: "old" } });
  const { prepareForUpdate, prepareForCreate } = strategy();
  assert.deepEqual(prepareForCreate!(object({ spec: {}, status: { s: "x" } }), main), object({ spec: {} }));
  const next = prepareForUpdate!(object({ spec: { a: "2" }, status: { s: "new" } }), old, main);
  assert.deepEqual(next, object({ spec: { a: "2" }, status: { s: "old" } }, 4));
  const same = prepareForUpdate!(object({ spec: { a: "1" } }), old, main);
  assert.equal(same.metadata.generation, 3);
  assert.deepEqual(same["status"], { s: "old" });
});

test("without the subresource the status is a field like any other", () => {
  const old = object({ status: { s: "old" } });
  const next = strategy({ hasStatus: false }).prepareForUpdate!(object({ status: { s: "new" } }), old, main);
  assert.deepEqual(next, object({ status: { s: "new" } }, 4));
});

test("the status path changes the status and its owners only [EP-24]", () => {
  const old = object({ spec: { a: "1" }, status: { s: "old" } });
  const managedFields = [{ manager: "m", operation: "Update" }] as const;
  const given = {
    ...object({ spec: { a: "2" }, extra: 1 }),
    metadata: { name: "x", labels: { a: "b" }, managedFields },
  };
  const next = updateStrategy(strategy(), "status").prepareForUpdate!(given, old, status);
  assert.deepEqual(next, { ...object({ spec: { a: "1" } }), metadata: { name: "x", generation: 3, managedFields } });
});

test("an update may keep what became invalid, a write of the status checks the status alone", () => {
  const hooks = strategy();
  const { validate, validateUpdate } = hooks;
  const bad = object({ spec: { n: 0 }, status: { n: 0 } });
  assert.deepEqual(validate!(bad, main).map(printFieldError), [
    "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1",
    "status.n: Invalid value: 0: status.n in body should be greater than or equal to 1",
  ]);
  assert.deepEqual(validateUpdate!({ ...bad, spec: { n: 0, a: "x" } }, bad, main), []);
  assert.deepEqual(updateStrategy(hooks, "status").validateUpdate!(bad, bad, status).map(printFieldError), [
    // The status is checked as a separate value, as upstream.
    "status.n: Invalid value: 0: n in body should be greater than or equal to 1",
  ]);
});

test("nothing is created while the definition is ending", () => {
  assert.throws(() => strategy({ isTerminating: true }).prepareForCreate!(object({}), main), {
    message: "create not allowed while custom resource definition is terminating",
  });
});

test("numbers of replicas must be numbers that fit", () => {
  const scale = { specReplicasPath: ".spec.r.n", statusReplicasPath: ".status.n", labelSelectorPath: ".status.s" };
  const { validate } = strategy({
    scale,
    version: new CustomVersion({ type: "object", fields: new Map() }, () => ({
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
    })),
  });
  const check = (fields: object): string[] => validate!(object(fields), main).map(printFieldError);
  assert.deepEqual(check({ spec: { r: { n: 3 } }, status: { n: 1, s: "a=b" } }), []);
  assert.deepEqual(check({}), []);
  assert.deepEqual(check({ spec: { r: { n: -1 } }, status: { n: 2 ** 31 } }), [
    ".spec.r.n: Invalid value: -1: should be a non-negative integer",
    ".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
  ]);
  assert.equal(check({ spec: { r: 5 }, status: { s: 5 } }).length, 2);
});

test("selectable fields are texts, empty where there is none [QP-04]", () => {
  const { fields } = strategy({ selectable: ["spec.a", "spec.n", "spec.deep.x"] });
  assert.deepEqual(fields!(object({ spec: { a: "1", n: 5 } })), { "spec.a": "1", "spec.n": "5", "spec.deep.x": "" });
});
