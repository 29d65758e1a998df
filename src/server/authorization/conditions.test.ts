/** Match conditions: errors with kube-apiserver's texts, and the variable `request`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubjectAccessReviewSpec } from "#api/authorization/v1.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { conditionCompiler } from "./conditions.ts";

const compile = conditionCompiler(true);

function holds(expression: string, spec: SubjectAccessReviewSpec): boolean {
  const condition = compile(expression);
  assert.ok(typeof condition === "function", expression);
  return condition(spec);
}

const listing: SubjectAccessReviewSpec = {
  user: "bob",
  groups: ["dev", "system:authenticated"],
  extra: { scope: ["a", "b"] },
  resourceAttributes: {
    verb: "list",
    resource: "pods",
    fieldSelector: { requirements: [{ key: "spec.nodeName", operator: "In", values: ["n1"] }] },
  },
};

test("a condition that is wrong is refused as kube-apiserver words it [EXPR-01, EXPR-39, EXPR-58]", () => {
  const cases = [
    ["request.nope == 'a'", "1:8: undefined field 'nope'", ".......^"],
    [
      "has(request.resourceAttributes) && request.resourceAttributes.foo == 'x'",
      "1:62: undefined field 'foo'",
      `${".".repeat(61)}^`,
    ],
    ["user == 'x'", "1:1: undeclared reference to 'user' (in container '')", "^"],
    [
      "request == 1",
      "1:9: found no matching overload for '_==_' applied to '(kubernetes.SubjectAccessReviewSpec, int)'",
      "........^",
    ],
    [
      "request.extra['a'] == 1",
      "1:20: found no matching overload for '_==_' applied to '(list(string), int)'",
      `${".".repeat(19)}^`,
    ],
    ["'a'.matches('[')", "1:13: invalid matches argument", "............^"],
    ["duration('x') == duration('1s')", "1:10: invalid duration argument", ".........^"],
    ["[dyn(1), 'a'] == [1]", "1:10: expected type 'dyn' but found 'string'", ".........^"],
  ] as const;
  for (const [source, message, mark] of cases) {
    const problem = `compilation failed: ERROR: <input>:${message}\n | ${source}\n | ${mark}`;
    assert.deepEqual(compile(source), { problem, isInternal: false }, source);
  }
  const must = (problem: string) => ({ problem: `must evaluate to bool but got ${problem}`, isInternal: false });
  assert.deepEqual(compile("request.user"), must("string"));
  assert.deepEqual(compile("[1,2]"), must("list(int)"));
  assert.deepEqual(compile("dyn(request)"), must("dyn"));
  assert.deepEqual(compile("int('a') == 1"), {
    problem: "program instantiation failed: type conversion error from 'string' to 'int'",
    isInternal: true,
  });
});

test("a condition sees the whole request, with empty texts for absent parts [AUTHZ-43]", () => {
  for (const expression of [
    "request.user == 'bob' && 'dev' in request.groups && request.extra['scope'] == ['a', 'b'] && request.uid == ''",
    "has(request.resourceAttributes) && !has(request.nonResourceAttributes)",
    "request.resourceAttributes.namespace == '' && request.resourceAttributes.verb == 'list'",
    "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.values == ['n1'])",
    "!has(request.resourceAttributes.labelSelector)",
    "quantity('1Ki').asInteger() == 1024 && ip('10.0.0.1').family() == 4 && url('https://a.b').getHost() == 'a.b'",
  ]) {
    assert.equal(holds(expression, listing), true, expression);
  }
  const path: SubjectAccessReviewSpec = { user: "bob", nonResourceAttributes: { path: "/metrics", verb: "get" } };
  assert.equal(
    holds("has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/metrics'", path),
    true,
  );
  assert.throws(() => holds("request.resourceAttributes.verb == 'get'", path), {
    message: "no such key: resourceAttributes",
  });
  assert.throws(() => holds("request.extra['x'] == []", listing), { message: "no such key: x" });
});

test("selectors are known where the feature is on", () => {
  const problem = conditionCompiler(false)("has(request.resourceAttributes.fieldSelector)");
  assert.ok(typeof problem === "object");
  assert.match(problem.problem, /undefined field 'fieldSelector'/);
});

test("a condition that costs too much has no value, and ends at its budget", async () => {
  const all = "request.groups.all(a, request.groups.all(b, request.groups.all(c, a + b + c != '')))";
  await growsInProportion(200, (length) => {
    const groups = Array.from({ length }, (_, at) => `group-${at}`);
    assert.throws(() => holds(all, { groups }), { message: "operation cancelled: actual cost limit exceeded" });
  });
});
