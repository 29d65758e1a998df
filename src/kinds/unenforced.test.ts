/** Warnings about kinds that are stored and not enforced. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { updateStrategy } from "#registry/resource-definition.ts";
import { kindUnderTest, writing } from "./kind-for-tests.ts";

const said = (group: string, kind: string, fields: object = {}): readonly string[] => {
  const { strategy } = kindUnderTest({ group, version: "v1", kind }).definition;
  const object = { kind, apiVersion: `${group}/v1`, metadata: { name: "a" }, ...fields } as Unstructured;
  const onCreate = strategy.warningsOnCreate?.(object, writing()) ?? [];
  assert.deepEqual(strategy.warningsOnUpdate?.(object, { ...object, spec: {} }, writing()) ?? [], onCreate, kind);
  assert.deepEqual(
    updateStrategy(strategy, "status").warningsOnUpdate?.(object, object, writing("status")) ?? [],
    [],
    kind,
  );
  assert.deepEqual(strategy.warningsOnCreate?.(object, writing("", true)) ?? [], [], kind);
  return onCreate;
};

test("who writes an object that nothing follows from is told so in one sentence", () => {
  for (const [group, kind, pattern] of [
    ["", "LimitRange", /limit ranges/],
    ["", "ResourceQuota", /resource quotas/],
  ] as const) {
    const [sentence, ...more] = said(group, kind);
    assert.match(sentence ?? "", pattern);
    assert.match(sentence!, /^this server stores [a-z ]+, but does not [a-z ]+ yet$/);
    assert.deepEqual(more, []);
  }
});

test("what is enforced, or nobody's to enforce here, comes without a warning", () => {
  assert.deepEqual(said("", "ConfigMap"), []);
  const remote = { spec: { service: { namespace: "n", name: "s" } } };
  assert.deepEqual(said("apiregistration.k8s.io", "APIService", remote), []);
  assert.deepEqual(said("networking.k8s.io", "NetworkPolicy"), []);
  for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
    assert.deepEqual(said("admissionregistration.k8s.io", kind, { webhooks: [] }), []);
  }
  const conversion = { spec: { versions: [], conversion: { strategy: "Webhook" } } };
  assert.deepEqual(said("apiextensions.k8s.io", "CustomResourceDefinition", conversion), []);
});
