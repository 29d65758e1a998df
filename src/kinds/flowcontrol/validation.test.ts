/** Invalid flow schemas and priority levels, with messages recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "flowcontrol.apiserver.k8s.io";
const schemas = kindUnderTest({ group, version: "v1", kind: "FlowSchema" });
const levels = kindUnderTest({ group, version: "v1", kind: "PriorityLevelConfiguration" });

function refusesSchema(spec: object, ...expected: readonly string[]): void {
  const whole = { matchingPrecedence: 500, priorityLevelConfiguration: { name: "a" }, ...spec };
  assert.deepEqual(schemas.refuseCreate({ metadata: { name: "a" }, spec: whole }), expected);
}

function refusesLevel(name: string, spec: object, ...expected: readonly string[]): void {
  assert.deepEqual(levels.refuseCreate({ metadata: { name }, spec }), expected);
}

const subjects = [{ kind: "User", user: { name: "a" } }];
const resourceRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["a"] };
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

test("a schema has a precedence of its own range and tells flows apart in known ways", () => {
  refusesSchema({});
  refusesSchema(
    { matchingPrecedence: 10_001 },
    "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
  );
  refusesSchema({ matchingPrecedence: -1 }, "spec.matchingPrecedence: Invalid value: -1: must be a positive value");
  refusesSchema(
    { matchingPrecedence: 1, distinguisherMethod: { type: "ByMoon" }, priorityLevelConfiguration: { name: "" } },
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    'spec.distinguisherMethod.type: Unsupported value: flowcontrol.FlowDistinguisherMethod{Type:"ByMoon"}: supported values: "ByNamespace", "ByUser"',
    "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
  );
});

test("a subject is what its kind says and nothing else", () => {
  const rules = (subject: object) => ({ rules: [{ subjects: [subject], resourceRules: [resourceRule] }] });
  const path = "spec.rules[0].subjects[0]";
  refusesSchema(rules(subjects[0]!));
  refusesSchema(
    rules({ kind: "User", group: { name: "g" } }),
    `${path}.user: Required value: user is required when subject kind is 'User'`,
    `${path}.group: Forbidden: group is forbidden when subject kind is not 'Group'`,
  );
  refusesSchema(
    rules({ kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "*" } }),
    `${path}.serviceAccount.namespace: Invalid value: "*": ${label}`,
  );
  refusesSchema(
    rules({ kind: "Robot", user: { name: "a" } }),
    `${path}.kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"`,
  );
});

test("lists of a rule are shown as Go writes them, and a star stands alone", () => {
  const path = "spec.rules[0]";
  refusesSchema(
    { rules: [{}] },
    `${path}.subjects: Required value: subjects must contain at least one value`,
    `${path}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`,
  );
  refusesSchema(
    {
      rules: [
        {
          subjects,
          resourceRules: [
            { ...resourceRule, verbs: ["get", "fly"], resources: ["*", "pods"], namespaces: ["a", "*"] },
            { ...resourceRule, verbs: ["*", "get"], namespaces: ["A"] },
            { ...resourceRule, namespaces: [] },
          ],
        },
      ],
    },
    `${path}.resourceRules[0].verbs: Unsupported value: []string{"get", "fly"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`,
    `${path}.resourceRules[0].resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources`,
    `${path}.resourceRules[0].namespaces: Invalid value: []string{"a", "*"}: if '*' is present, must not specify other namespaces`,
    `${path}.resourceRules[1].verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
    `${path}.resourceRules[1].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ${label}`,
    `${path}.resourceRules[2].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
  );
});

test("paths outside of resources begin with a slash and end with at most one star", () => {
  const rules = (...nonResourceURLs: readonly string[]) => ({
    rules: [{ subjects, nonResourceRules: [{ verbs: ["get"], nonResourceURLs }] }],
  });
  const path = "spec.rules[0].nonResourceRules[0].nonResourceURLs";
  refusesSchema(rules("/", "/a/*", "/healthz"));
  refusesSchema(
    rules("/a b", "*"),
    `${path}: Invalid value: []string{"/a b", "*"}: if '*' is present, must not specify other non-resource URLs`,
  );
  refusesSchema(
    rules("", "a", "/a b", "/a//b", "/a*", "/*/b"),
    `${path}[0]: Invalid value: "": must not be empty`,
    `${path}[1]: Invalid value: "a": must start with slash`,
    `${path}[2]: Invalid value: "/a b": must not contain white-space`,
    `${path}[3]: Invalid value: "/a//b": must not contain double slash`,
    `${path}[4]: Invalid value: "/a*": wildcard can only do suffix matching`,
    `${path}[5]: Invalid value: "/*/b": wildcard can only do suffix matching`,
  );
});

test("a level is exempt or limited, and its figures have bounds", () => {
  refusesLevel("a", { type: "Limited" }, "spec.limited: Required value: must not be empty when type is Limited");
  refusesLevel(
    "a",
    { type: "Exempt", limited: {} },
    "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
    "spec.limited: Forbidden: must be nil if the type is not Limited",
  );
  const queuing = { queues: 64, handSize: 64, queueLengthLimit: -1 };
  const limited = {
    nominalConcurrencyShares: -1,
    limitResponse: { type: "Queue", queuing },
    lendablePercent: 101,
    borrowingLimitPercent: -1,
  };
  refusesLevel(
    "a",
    { type: "Limited", limited },
    "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
    "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
    "spec.limited.limitResponse.queuing.handSize: Invalid value: 64: required entropy bits of deckSize 64 and handSize 64 should not be greater than 60",
    "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
    "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
  );
});

test("mandatory levels and schemas keep their spec, but the exempt level may change or omit its shares", () => {
  const mandatory = bootstrapFlowControl(kubernetesDomain);
  for (const level of mandatory.levels) assert.deepEqual(levels.refuseCreate({ ...level }), [], level.metadata.name!);
  for (const schema of mandatory.schemas)
    assert.deepEqual(schemas.refuseCreate({ ...schema }), [], schema.metadata.name!);
  refusesLevel("exempt", { type: "Exempt" });
  refusesLevel("exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 7, lendablePercent: 50 } });
  const catchAll = mandatory.levels.find(({ metadata }) => metadata.name === "catch-all")!;
  const spec = catchAll["spec"] as { readonly limited: object }; // the level has these fields
  const changed = { ...spec, limited: { ...spec.limited, nominalConcurrencyShares: 6 } };
  assert.match(
    levels.refuseCreate({ metadata: { name: "catch-all" }, spec: changed }).join(),
    /^spec: Invalid value: .*: spec of 'catch-all' must equal the fixed value$/,
  );
});

test("conditions of a status are told apart by their type, and a mark of a beta version is refused", () => {
  const conditions = [{ type: "Dangling" }, { type: "" }, { type: "Dangling" }];
  const schema = { metadata: { name: "a" }, spec: {} };
  assert.deepEqual(schemas.refuseUpdate({ ...schema, status: { conditions } }, schema, "status"), [
    "status.conditions[1].type: Required value: must not be empty",
    'status.conditions[2].type: Duplicate value: "Dangling"',
  ]);
  const check = (domain: string, key: string): readonly string[] =>
    kindUnderTest({ group, version: "v1", kind: "PriorityLevelConfiguration" }, { domain }).refuseCreate({
      metadata: { name: "a", annotations: { [key]: "" } },
      spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
    });
  assert.deepEqual(check("k8s.io", "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"), [
    "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
  ]);
  assert.deepEqual(check("platform.io", "flowcontrol.platform.io/v1beta3-preserve-zero-concurrency-shares").length, 1);
});
