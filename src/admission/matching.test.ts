/** Tests which requests rules and selectors match. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Namespace } from "#api/core/v1.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import { isExempt, type Matched, type MatchEnvironment, RequestMatcher, type MatchCriteria } from "./matching.ts";
import type { AdmissionAttributes } from "./plugin.ts";

const namespace = (name: string, labels: Record<string, string>): Namespace =>
  ({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels }, spec: {}, status: {} }) as Namespace; // what is read

const scaler = (version: string): Matched => ({
  resource: { group: "autoscaling", version, resource: "horizontalpodautoscalers" },
  kind: { group: "autoscaling", version, kind: "HorizontalPodAutoscaler" },
});

const environment: MatchEnvironment = {
  equivalents: ({ group, version }) =>
    group === "autoscaling" ? [scaler(version), ...["v1", "v2"].filter((one) => one !== version).map(scaler)] : [],
  getNamespace: (name) => (name === "n" ? namespace("n", { team: "a" }) : undefined),
};

const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "*" };
const object = (labels: Record<string, string>): ApiObject => ({ metadata: { name: "o", labels } });

const match = (resources: MatchCriteria, more: Partial<AdmissionAttributes> = {}): Matched | undefined =>
  new RequestMatcher(resources).match(attributesOf(object({}), { name: "o", ...more }), environment);

const matches = (resources: MatchCriteria, more: Partial<AdmissionAttributes> = {}): boolean =>
  match(resources, more) !== undefined;

test("a rule names operations, groups, versions and resources, or every one", () => {
  assert.ok(matches({ rules: [rule] }));
  for (const [member, yes, no] of [
    ["operations", ["UPDATE", "CREATE"], ["UPDATE", "DELETE"]],
    ["apiGroups", [""], ["apps"]],
    ["apiVersions", ["v1"], ["v1beta1"]],
    ["resources", ["configmaps"], ["pods"]],
  ] as const) {
    assert.ok(matches({ rules: [{ ...rule, [member]: yes }] }), member);
    assert.ok(!matches({ rules: [{ ...rule, [member]: no }] }), member);
    assert.ok(!matches({ rules: [{ ...rule, [member]: undefined }] }), member);
  }
  assert.ok(matches({ rules: [{ ...rule, resources: ["pods"] }, rule] }));
});

test("an empty list of rules matches no request, and a webhook without rules matches every request", () => {
  assert.ok(!matches({ rules: [] }));
  assert.ok(matches({}));
});

test("subresources match where a rule says so", () => {
  const resource = { group: "", version: "v1", resource: "pods" };
  for (const [wanted, main, status] of [
    ["pods", true, false],
    ["pods/status", false, true],
    ["pods/*", true, true],
    ["*", true, false],
    ["*/status", false, true],
    ["*/*", true, true],
    ["pods/", true, false],
    ["nodes/status", false, false],
  ] as const) {
    const resources = { rules: [{ ...rule, resources: [wanted] }] };
    assert.equal(matches(resources, { resource }), main, wanted);
    assert.equal(matches(resources, { resource, subresource: "status" }), status, wanted);
  }
});

test("a scope is that of the resource, and a namespace is in none", () => {
  const namespaces = { group: "", version: "v1", resource: "namespaces" };
  for (const [scope, inNamespace, cluster] of [
    ["*", true, true],
    ["Namespaced", true, false],
    ["Cluster", false, true],
  ] as const) {
    const resources = { rules: [{ ...rule, scope }] };
    assert.equal(matches(resources), inNamespace, scope);
    assert.equal(matches(resources, { namespace: "" }), cluster, scope);
    assert.equal(matches(resources, { resource: namespaces, namespace: "n" }), cluster, scope);
  }
});

test("rules of policies name objects, and exclude what others include", () => {
  assert.ok(matches({ rules: [{ ...rule, resourceNames: ["p", "o"] }] }));
  assert.ok(!matches({ rules: [{ ...rule, resourceNames: ["p"] }] }));
  assert.ok(!matches({ rules: [rule], excludes: [{ ...rule, resources: ["configmaps"] }] }));
  assert.ok(matches({ excludes: [{ ...rule, resources: ["pods"] }] }));
});

test("a request matches in an equivalent version unless its own version is meant", () => {
  const { resource, kind } = scaler("v2");
  const rules = [{ ...rule, apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["*"] }];
  assert.deepEqual(match({ rules }, { resource, kind }), scaler("v1"));
  assert.deepEqual(match({ rules, matchPolicy: "Equivalent" }, { resource, kind }), scaler("v1"));
  assert.equal(match({ rules, matchPolicy: "Exact" }, { resource, kind }), undefined);
  const both = match({ rules: [...rules, { ...rules[0], apiVersions: ["v2"] }] }, { resource, kind });
  assert.deepEqual(both?.kind, kind);
  assert.ok(!matches({ rules: [rule], excludes: rules }, { resource, kind }));
  assert.ok(matches({ rules: [rule], excludes: rules, matchPolicy: "Exact" }, { resource, kind }));
});

test("an object selector matches the new or the old object, and without any object nothing but everything", () => {
  const objectSelector = { matchLabels: { a: "b" } };
  const resources = { rules: [rule], objectSelector };
  assert.ok(!matches(resources));
  assert.ok(matches(resources, { object: object({ a: "b" }) }));
  assert.ok(matches(resources, { operation: "UPDATE", oldObject: object({ a: "b" }) }));
  assert.ok(!matches(resources, { operation: "DELETE", object: undefined, oldObject: undefined }));
  const missing = { rules: [rule], objectSelector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] } };
  assert.ok(!matches(missing, { operation: "CONNECT", object: undefined }));
  assert.ok(matches({ rules: [rule], objectSelector: {} }, { operation: "CONNECT", object: undefined }));
});

test("a namespace selector sees the labels of the request's namespace and lets cluster-scoped objects pass", () => {
  const resources = { rules: [rule], namespaceSelector: { matchLabels: { team: "a" } } };
  assert.ok(matches(resources));
  assert.ok(!matches({ rules: [rule], namespaceSelector: { matchLabels: { team: "b" } } }));
  assert.ok(matches(resources, { namespace: "" }));
  assert.throws(() => match(resources, { namespace: "gone" }), { message: 'namespaces "gone" not found' });
  assert.ok(!matches({ ...resources, rules: [] }, { namespace: "gone" }));
});

test("a namespace that is written matches by its new labels, one that is deleted by those it has", () => {
  const resources = { rules: [rule], namespaceSelector: { matchLabels: { team: "a" } } };
  const of = {
    resource: { group: "", version: "v1", resource: "namespaces" },
    kind: { group: "", version: "v1", kind: "Namespace" },
    namespace: "",
    name: "n",
  };
  assert.ok(!matches(resources, { ...of, object: object({}) }));
  assert.ok(matches(resources, { ...of, name: "new", object: object({ team: "a" }) }));
  assert.ok(matches(resources, { ...of, operation: "DELETE", object: undefined, oldObject: object({}) }));
  assert.ok(matches(resources, { ...of, operation: "UPDATE", subresource: "status", object: object({}) }));
});

test("a stored selector that cannot be read is an error of requests it is about", () => {
  const wrong = { matchExpressions: [{ key: "a", operator: "Resembles" }] };
  assert.throws(() => match({ rules: [rule], objectSelector: wrong }), { message: /object selector cannot be read/ });
  assert.throws(() => match({ rules: [rule], namespaceSelector: wrong }), { message: /namespace selector cannot/ });
  assert.ok(!matches({ rules: [], objectSelector: wrong }));
});

test("configurations of webhooks and policies are exempt, by the domain's name of their group", () => {
  const kind = { group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingWebhookConfiguration" };
  const of = (given: typeof kind) => attributesOf(undefined, { kind: given });
  assert.ok(isExempt(of(kind), kubernetesDomain));
  assert.ok(isExempt(of({ ...kind, kind: "MutatingAdmissionPolicyBinding" }), kubernetesDomain));
  assert.ok(!isExempt(of({ ...kind, group: "example.com" }), kubernetesDomain));
  assert.ok(!isExempt(of({ ...kind, kind: "ConfigMap", group: "" }), kubernetesDomain));
  const platform = apiDomain("platform.io");
  assert.ok(!isExempt(of(kind), platform));
  assert.ok(isExempt(of({ ...kind, group: "admissionregistration.platform.io" }), platform));
});
