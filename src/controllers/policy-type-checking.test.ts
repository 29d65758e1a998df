/** Type warnings in the status of policies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ValidatingAdmissionPolicySpec } from "#api/admissionregistration/v1.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { runToEnd } from "#std/cooperative.ts";
import { type ServedKinds, typeWarnings } from "./policy-type-checking/type-warnings.ts";

const tables = loadDefinitions(kubernetesDomain);

const kinds: ServedKinds = {
  hasSelectors: true,
  ofKind: (gvk) => {
    const schema = tables.schemaOf(gvk);
    return schema === undefined ? undefined : { kind: gvk.kind, schema };
  },
  ofResource: ({ group, version, resource }) =>
    tables.kinds
      .filter((one) => (group === "" || one.group === group) && one.version === version && one.resource === resource)
      .map((one) => ({ group: one.group, version, kind: one.kind, schema: tables.schemaOf(one)! })),
};

const rule = (resources: readonly string[], apiGroups: readonly string[] = ["apps"]) => ({
  apiGroups,
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources,
});

/** Returns the findings of one expression about deployments, without the position in it. */
function findings(expression: string, more: Partial<ValidatingAdmissionPolicySpec> = {}): readonly string[] {
  const matchConstraints = { resourceRules: [rule(["deployments"])] };
  const warnings = runToEnd(typeWarnings({ matchConstraints, validations: [{ expression }], ...more }, kinds));
  return warnings.flatMap(({ warning }) =>
    [...warning.matchAll(/: ERROR: <input>:\d+:\d+: (.*)$/gm)].map((m) => m[1]!),
  );
}

test("fields that a kind does not have and types that do not fit are found [EXPR-58]", () => {
  const mismatch = (types: string, name = "_==_"): string =>
    `found no matching overload for '${name}' applied to '(${types})'`;
  const about = (expression: string, ...expected: readonly string[]): void =>
    assert.deepEqual(findings(expression), expected, expression);
  about("object.spec.replicas > 1");
  about("object.foo == 1", "undefined field 'foo'");
  about("oldObject.spec.foo.bar == 1", "undefined field 'foo'");
  about("object.spec.replicas == 'a'", mismatch("int, string"));
  about("object.metadata.labels == 1", mismatch("map(string, string), int"));
  about("object.metadata.creationTimestamp + 1 == 2", mismatch("timestamp, int", "_+_"));
  about("object.spec.template.spec.containers.all(c, c.image == 1)", mismatch("string, int"));
  about(
    "object.spec.template.spec.containers[0] + 1 == 2",
    mismatch("Deployment.spec.template.spec.containers.@idx, int", "_+_"),
  );
  about("object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == '1'");
  // Quantities may be numbers or texts, so upstream knows no type of them.
  about("object.spec.template.spec.containers[0].resources.limits['cpu'] == '1'", "undefined field 'limits'");
  about("object == null || oldObject == null");
});

test("a warning names the field and each kind, in order", () => {
  const matchConstraints = { resourceRules: [rule(["deployments", "pods"], ["apps", ""])] };
  const validations = [
    { expression: "true" },
    { expression: "object.foo == 1", messageExpression: "string(object.bar)" },
  ];
  const mark = "\n | object.foo == 1\n | ......^\n";
  const warnings = runToEnd(typeWarnings({ matchConstraints, validations }, kinds));
  assert.deepEqual(warnings[0], {
    fieldRef: "spec.validations[1].expression",
    warning: `/v1, Kind=Pod: ERROR: <input>:1:7: undefined field 'foo'${mark}\napps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'foo'${mark}`,
  });
  assert.deepEqual(
    warnings.map(({ fieldRef }) => fieldRef),
    ["spec.validations[1].expression", "spec.validations[1].messageExpression"],
  );
});

test("parameters have the type of their kind, if it is served", () => {
  const ofMaps = { paramKind: { apiVersion: "v1", kind: "ConfigMap" } };
  assert.deepEqual(findings("params.data.x == '1'", ofMaps), []);
  assert.deepEqual(findings("params.spec.x == '1'", ofMaps), ["undefined field 'spec'"]);
  const unknown = { paramKind: { apiVersion: "example.com/v1", kind: "Limit" } };
  assert.deepEqual(findings("params.spec.x == 1", unknown), ["undeclared reference to 'params' (in container '')"]);
});

test("variables have the types of plain values, those of lists and maps; nothing is said about other variables", () => {
  const containers = "object.spec.template.spec.containers";
  const variables = [
    { name: "wrong", expression: "object.foo" },
    { name: "name", expression: "object.metadata.name" },
    { name: "same", expression: "variables.name" },
    { name: "spec", expression: "object.spec" },
    { name: "list", expression: containers },
  ];
  const about = (expression: string, ...expected: readonly string[]): void =>
    assert.deepEqual(findings(expression, { variables }), expected, expression);
  const mismatch = (type: string): string => `found no matching overload for '_==_' applied to '(${type}, int)'`;
  about("variables.wrong.b == 1");
  about("variables.name == 1", mismatch("string"));
  about("variables.same == 1", mismatch("string"));
  about("variables.spec.foo == 1");
  about("variables.list == 1", mismatch("list(dyn)"));
  about("variables.list[0].foo == 1");
});

test("the authorizer's own resource is not known [EXPR-58]", () => {
  const variables = [{ name: "a", expression: "1" }];
  const finding = "unexpected failed resolution of 'kubernetes.authorization.Authorizer'";
  for (const more of [{}, { variables }]) {
    assert.deepEqual(findings("authorizer.requestResource.check('get').allowed()", more), [finding]);
    assert.deepEqual(findings("authorizer.path('/').check('get').allowed()", more), []);
  }
});

test("rules of the core group mean resources of this name in every group", () => {
  const matchConstraints = { resourceRules: [rule(["deployments", "events"], [""])] };
  const validations = [{ expression: "object.foo == 1" }];
  const [warning] = runToEnd(typeWarnings({ matchConstraints, validations }, kinds));
  assert.deepEqual(warning?.warning.match(/\S*, Kind=\w+/g), [
    "/v1, Kind=Event",
    "apps/v1, Kind=Deployment",
    "events.k8s.io/v1, Kind=Event",
  ]);
});

test("wildcards and subresources are not followed, at most ten kinds looked at", () => {
  for (const resources of [["*"], ["deployments/*"], ["deployments/scale"], ["nothing"]]) {
    assert.deepEqual(findings("object.foo == 1", { matchConstraints: { resourceRules: [rule(resources)] } }), []);
  }
  const everyGroup = { matchConstraints: { resourceRules: [rule(["deployments"], ["*"])] } };
  assert.deepEqual(findings("object.foo == 1", everyGroup), []);
  const many = rule(
    [
      "pods",
      "secrets",
      "services",
      "nodes",
      "configmaps",
      "jobs",
      "cronjobs",
      "deployments",
      "daemonsets",
      "ingresses",
      "statefulsets",
    ],
    ["", "apps", "batch", "networking.k8s.io"],
  );
  assert.equal(findings("object.foo == 1", { matchConstraints: { resourceRules: [many] } }).length, 10);
});
