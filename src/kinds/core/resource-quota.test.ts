/** The findings of kube-apiserver 1.32.1 about quotas, and their number. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const quotas = kindUnderTest({ group: "", version: "v1", kind: "ResourceQuota" });
const quota = (spec: object): Unstructured => ({ metadata: { name: "q" }, spec });
const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `hugepages-${i + 1}`);

test("limits of counted resources are whole and not negative", () => {
  assert.deepEqual(quotas.refuseCreate(quota({ hard: { pods: "500m", cpu: "500m", secrets: "-1" } })), [
    'spec.hard[pods]: Invalid value: "500m": must be an integer',
    'spec.hard[secrets]: Invalid value: "-1": must be greater than or equal to 0',
  ]);
});

test("a scope fits the limits beside it", () => {
  const shown = '[]core.ResourceQuotaScope{"BestEffort", "x"}';
  assert.deepEqual(
    quotas.refuseCreate(quota({ hard: { pods: "1", cpu: "1", secrets: "1" }, scopes: ["BestEffort", "x"] })),
    [
      `spec.scopes: Invalid value: ${shown}: unsupported scope applied to resource`,
      `spec.scopes: Invalid value: ${shown}: unsupported scope applied to resource`,
      `spec.scopes: Invalid value: ${shown}: unsupported scope`,
    ],
  );
  const matchExpressions = [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }];
  assert.deepEqual(quotas.refuseCreate(quota({ hard: { cpu: "1" }, scopeSelector: { matchExpressions } })), []);
  assert.equal(quotas.refuseCreate(quota({ hard: { secrets: "1" }, scopeSelector: { matchExpressions } })).length, 1);
});

test("of scopes of a selector two may not contradict each other", () => {
  const matchExpressions = ["BestEffort", "NotBestEffort"].map((scopeName) => ({ scopeName, operator: "Exists" }));
  const path = "spec.scopeSelector.matchExpressions";
  assert.deepEqual(quotas.refuseCreate(quota({ hard: { pods: "1" }, scopeSelector: { matchExpressions } })), [
    `${path}: Invalid value: []core.ResourceQuotaScope(nil): conflicting scopes`,
  ]);
});

test("many scopes beside many limits have a bounded number of findings", async () => {
  await growsInProportion(1000, (count) => {
    const hard = Object.fromEntries(
      many(count)
        .map((name) => [`requests.storage-${name}`, "1"])
        .concat(many(count).map((name) => [name, "1"])),
    );
    const scopes = Array.from({ length: count }, () => "NotBestEffort");
    const matchExpressions = scopes.map((scopeName) => ({ scopeName, operator: "Exists" }));
    assert.ok(quotas.refuseCreate(quota({ hard, scopes, scopeSelector: { matchExpressions } })).length < 10_000);
  });
});
