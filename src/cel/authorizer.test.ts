/** Tests authorization checks of expressions: attributes, decisions, asynchronous answers, and costs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { AuthorizationChecks, type CheckAttributes, type CheckVerdict } from "./authorizer.ts";
import type { Evaluation } from "./evaluate.ts";
import { evaluate } from "./evaluate-for-tests.ts";
import { authorizerType } from "./library/authorizer.ts";
import { runUntilAnswered } from "./pending.ts";

const user = { name: "ann", groups: ["system:authenticated"] };

type Authorize = (attributes: CheckAttributes) => MaybePromise<CheckVerdict>;

const allowing =
  (isAllowed: (attributes: CheckAttributes) => boolean): Authorize =>
  (attributes) =>
    isAllowed(attributes) ? { decision: "allow", reason: "a role" } : { decision: "noOpinion", reason: "" };

function run(source: string, authorize: Authorize): MaybePromise<Evaluation> {
  const checks = new AuthorizationChecks(authorize);
  const options = { types: { authorizer: authorizerType } };
  return runUntilAnswered(() => evaluate(source, { authorizer: checks.authorizer(user) }, options));
}

function result(source: string, authorize: Authorize): unknown {
  const evaluation = run(source, authorize);
  assert.ok(!(evaluation instanceof Promise));
  return "value" in evaluation ? evaluation.value : evaluation.error.message;
}

/** Returns the attributes that an expression sends to the authorizer. */
function askAuthorizer(source: string): CheckAttributes {
  const all: CheckAttributes[] = [];
  result(source, (attributes) => {
    all.push(attributes);
    return { decision: "deny", reason: "" };
  });
  assert.equal(all.length, 1);
  return all[0]!;
}

const resource = {
  isResourceRequest: true,
  path: "",
  verb: "get",
  group: "",
  version: "*",
  namespace: "",
  resource: "pods",
  subresource: "",
  name: "",
};

test("checks of resources say group, resource and more [EXPR-20] [EXPR-21] [EXPR-22] [EXPR-23]", () => {
  assert.deepEqual(askAuthorizer("authorizer.group('').resource('pods').check('get').allowed()"), {
    ...resource,
    user,
  });
  assert.deepEqual(
    askAuthorizer(
      "authorizer.group('').resource('pods').subresource('log').namespace('a').name('b').check('get').allowed()",
    ),
    { ...resource, user, subresource: "log", namespace: "a", name: "b" },
  );
});

test("checks of paths, of service accounts and with selectors [EXPR-26] [EXPR-27] [EXPR-28]", () => {
  const path = askAuthorizer("authorizer.path('/healthz').check('get').allowed()");
  assert.deepEqual([path.path, path.isResourceRequest], ["/healthz", false]);
  const account = askAuthorizer(
    "authorizer.serviceAccount('ns1', 'sa').group('').resource('pods').check('get').allowed()",
  );
  const groups = ["system:serviceaccounts", "system:serviceaccounts:ns1"];
  assert.deepEqual(account.user, { name: "system:serviceaccount:ns1:sa", groups });
  const selected = askAuthorizer(
    "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c in (').check('list').allowed()",
  );
  assert.equal(selected.fieldSelector?.length, 1);
  assert.equal(selected.labelSelector, undefined);
});

test("a decision has an answer, a reason and an error [EXPR-24] [EXPR-25]", () => {
  const decision = "authorizer.group('').resource('pods').check('get')";
  const authorize = allowing(({ resource }) => resource === "pods");
  assert.equal(result(`${decision}.allowed()`, authorize), true);
  assert.equal(result(`${decision}.reason()`, authorize), "a role");
  assert.equal(result(`type(${decision}.allowed()) == bool && !${decision}.errored()`, authorize), true);
  const failing: Authorize = () => ({ decision: "noOpinion", reason: "", error: "no answer" });
  assert.equal(result(`${decision}.errored() && !${decision}.allowed()`, failing), true);
  assert.equal(result(`${decision}.error()`, failing), "no answer");
});

test("wrong parts of checks have the reference's texts", () => {
  const never: Authorize = () => assert.fail("asked");
  const cases: readonly (readonly [string, string])[] = [
    ["authorizer.path('')", "path must not be empty"],
    ["authorizer.group('').resource('')", "resource must not be empty"],
    ["authorizer.serviceAccount('A', 'x')", "Invalid service account namespace"],
    ["authorizer.serviceAccount('A', 'X Y')", "Invalid service account name"],
    ["authorizer == authorizer", "no such overload"],
    ["authorizer.group(dyn(1))", "no such overload: group(kubernetes.authorization.Authorizer, int)"],
  ];
  for (const [source, wanted] of cases) assert.equal(result(source, never), wanted, source);
});

test("an answer that comes late is waited for, once, and not taken in by a logical operator", async () => {
  let count = 0;
  const late: Authorize = async ({ verb }) => {
    count++;
    return Promise.resolve({ decision: verb === "get" ? "allow" : "deny", reason: "" });
  };
  const check = (verb: string): string => `authorizer.group('').resource('pods').check('${verb}').allowed()`;
  const result = await run(`(${check("list")} || ${check("get")}) && (${check("get")} || true)`, late);
  assert.ok("error" in result && result.isOverBudget, "three checks cost more than the limit");
  assert.equal(count, 2);
  const other = await run(`${check("list")} || ${check("get")}`, late);
  assert.deepEqual("value" in other && other.value, true);
});

test("checks cost what they cost upstream", () => {
  const authorize = allowing(() => true);
  const selector = "spec.nodeName=example-node-name.fully.qualified.domain.name.example.com";
  const cases: readonly (readonly [string, number])[] = [
    ["authorizer.path('/healthz')", 2],
    ["authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend')", 6],
    [`authorizer.group('').resource('pods').fieldSelector('${selector}')`, 1821],
    ["authorizer.path('/healthz').check('get').allowed()", 350_003],
  ];
  for (const [source, cost] of cases) {
    const result = run(source, authorize);
    assert.ok(!(result instanceof Promise));
    assert.equal(result.cost, cost, source);
  }
});
