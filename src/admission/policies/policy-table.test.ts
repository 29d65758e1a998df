/** Tests which policies apply to a request while policies and bindings are created, changed and deleted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1.ts";
import { attributesOf } from "../attributes-for-tests.ts";
import type { MatchEnvironment } from "../matching.ts";
import { PolicyTable } from "./policy-table.ts";

const newTable = () => new PolicyTable<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, undefined>(true);

const policy = (name: string, resource = "configmaps"): ValidatingAdmissionPolicy => ({
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] }],
    },
    validations: [],
  },
  status: {},
});

const binding = (name: string, policyName: string): ValidatingAdmissionPolicyBinding => ({
  metadata: { name },
  spec: { policyName },
});

const forms = [
  {
    resource: { group: "", version: "v1", resource: "configmaps" },
    kind: { group: "", version: "v1", kind: "ConfigMap" },
  },
];
const environment: MatchEnvironment = { equivalents: () => forms, getNamespace: () => undefined };

const listAsked = (table: ReturnType<typeof newTable>): readonly string[] =>
  table
    .candidates(attributesOf(undefined), environment)
    .map(({ name, bindings }) => `${name}: ${bindings.map((one) => one.name).join(" ")}`);

test("a policy is asked while it exists and a binding names it", () => {
  const table = newTable();
  table.setBinding("b2", binding("b2", "p"));
  table.setPolicy("q", policy("q"));
  assert.equal(table.isEmpty, true);
  assert.deepEqual(listAsked(table), []);
  table.setPolicy("p", policy("p"));
  assert.equal(table.isEmpty, false);
  assert.deepEqual(listAsked(table), ["p: b2"]);
  table.setBinding("b1", binding("b1", "p"));
  table.setBinding("a", binding("a", "q"));
  assert.deepEqual(listAsked(table), ["p: b1 b2", "q: a"]);
  table.setBinding("b1", binding("b1", "q"));
  assert.deepEqual(listAsked(table), ["p: b2", "q: a b1"]);
  table.setBinding("b2", undefined);
  assert.deepEqual(listAsked(table), ["q: a b1"]);
  table.setPolicy("q", policy("q", "secrets"));
  assert.deepEqual(listAsked(table), []);
  table.setPolicy("q", policy("q", "*"));
  assert.deepEqual(listAsked(table), ["q: a b1"]);
  table.setPolicy("q", undefined);
  assert.deepEqual([listAsked(table), table.isEmpty], [[], true]);
});

test("a new list of policies and bindings replaces everything", () => {
  const table = newTable();
  table.setPolicy("p", policy("p"));
  table.setBinding("b", binding("b", "p"));
  assert.deepEqual(listAsked(table), ["p: b"]);
  table.clear("bindings");
  assert.deepEqual([listAsked(table), table.isEmpty], [[], true]);
  table.setBinding("c", binding("c", "p"));
  assert.deepEqual(listAsked(table), ["p: c"]);
  table.clear("policies");
  assert.deepEqual(listAsked(table), []);
  table.setPolicy("p", policy("p"));
  assert.deepEqual(listAsked(table), ["p: c"]);
});

test("a change looks at its own policy alone, and those that were asked for keep what they were given", () => {
  const table = newTable();
  for (let at = 0; at < 200; at++) {
    table.setPolicy(`p${at}`, policy(`p${at}`, at < 2 ? "configmaps" : "secrets"));
    table.setBinding(`b${at}`, binding(`b${at}`, `p${at}`));
  }
  const given = table.candidates(attributesOf(undefined), environment);
  assert.equal(given.length, 2);
  let looks = 0;
  const counted = policy("p7", "configmaps");
  const { matchConstraints } = counted.spec;
  table.setPolicy("p7", {
    ...counted,
    spec: {
      ...counted.spec,
      get matchConstraints() {
        looks++;
        return matchConstraints!;
      },
    },
  });
  const before = looks;
  table.setPolicy("p100", policy("p100", "secrets"));
  table.setBinding("b150", undefined);
  assert.equal(looks, before);
  assert.equal(given.length, 2);
  assert.deepEqual(listAsked(table), ["p0: b0", "p1: b1", "p7: b7"]);
  assert.equal(looks, before);
});
