/** Matching of audit rules. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuditedAction, AuditPolicy, type PolicyDocument } from "./policy.ts";

const action: AuditedAction = {
  user: { name: "alice", groups: ["people", "system:authenticated"] },
  verb: "get",
  isResourceRequest: true,
  path: "/api/v1/namespaces/shop/pods/p/log",
  group: "",
  resource: "pods",
  subresource: "log",
  namespace: "shop",
  name: "p",
};
const health: AuditedAction = {
  ...action,
  isResourceRequest: false,
  path: "/healthz/ping",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

type Rule = NonNullable<PolicyDocument["rules"]>[number];

function fits(rule: Rule, of: AuditedAction, expected: boolean): void {
  const { level } = new AuditPolicy({ rules: [{ level: "Metadata", ...rule }] }).decide(of);
  assert.equal(level, expected ? "Metadata" : "None", JSON.stringify(rule));
}

test("a rule fits when each of its lists does, and an empty list is no condition", () => {
  fits({}, action, true);
  fits({ users: ["alice"], userGroups: ["none", "people"], verbs: ["get"] }, action, true);
  fits({ users: [], userGroups: [], verbs: [], namespaces: [], resources: [], nonResourceURLs: [] }, action, true);
  fits({ users: ["bob"] }, action, false);
  fits({ userGroups: ["none"] }, action, false);
  fits({ verbs: ["list", "watch"] }, action, false);
  fits({ namespaces: ["shop"] }, action, true);
  fits({ namespaces: ["other", ""] }, action, false);
  fits({ namespaces: [""] }, { ...action, namespace: "" }, true);
  fits({ namespaces: [""] }, health, false);
});

test("resources are named by group, name, subresource, wildcards of these, and names of objects", () => {
  const of = (resources: readonly string[], resourceNames: readonly string[] = [], group = ""): Rule => ({
    resources: [{ group, resources, resourceNames }],
  });
  fits(of([]), action, true);
  fits(of([], [], "apps"), action, false);
  fits(of(["pods/log"]), action, true);
  fits(of(["pods"]), action, false);
  fits(of(["pods"]), { ...action, subresource: "" }, true);
  fits(of(["*"]), action, true);
  fits(of(["pods/*"]), action, true);
  fits(of(["pods/*"]), { ...action, subresource: "" }, true);
  fits(of(["*/log"]), action, true);
  fits(of(["*/status"]), action, false);
  fits(of(["*"], ["p"]), action, true);
  fits(of(["*"], ["q"]), action, false);
  fits({ resources: [{ resources: ["pods/log"] }] }, health, false);
});

test("other paths are named whole or by their beginning", () => {
  fits({ nonResourceURLs: ["/healthz*"] }, health, true);
  fits({ nonResourceURLs: ["/healthz/ping"] }, health, true);
  fits({ nonResourceURLs: ["/healthz"] }, health, false);
  fits({ nonResourceURLs: ["*"] }, health, true);
  fits({ nonResourceURLs: ["*"] }, action, false);
});

test("the first fitting rule decides; stages left out add up, managed fields are the rule's before the policy's", () => {
  const policy = new AuditPolicy({
    omitStages: ["RequestReceived"],
    omitManagedFields: true,
    rules: [
      { level: "Request", users: ["alice"], omitStages: ["ResponseStarted"], omitManagedFields: false },
      { level: "Metadata" },
    ],
  });
  const first = policy.decide(action);
  assert.equal(first.level, "Request");
  assert.deepEqual([...first.omitStages], ["RequestReceived", "ResponseStarted"]);
  assert.equal(first.omitManagedFields, false);
  const second = policy.decide({ ...action, user: { name: "bob", groups: [] } });
  assert.equal(second.level, "Metadata");
  assert.equal(second.omitManagedFields, true);
});
