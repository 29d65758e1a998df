/** RBAC decisions and their reasons. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRule, Subject } from "#api/rbac/v1.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { attributes } from "./attributes-for-tests.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { Attributes, Verdict } from "./authorizer.ts";
import { rbac } from "./rbac.ts";
import { RbacIndex } from "./rbac-index.ts";
import { compileRule } from "./rules.ts";

const group = "rbac.authorization.k8s.io";
const eve: UserInfo = { name: "eve", groups: ["readers", "system:authenticated"] };
const read: PolicyRule = { verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] };

const asks = (over: Partial<Attributes> = {}): Attributes =>
  attributes({ user: eve, verb: "list", namespace: "shop", name: "", ...over });

const user = (name: string): Subject => ({ kind: "User", name });
const members = (name: string): Subject => ({ kind: "Group", name });

interface Fixture {
  readonly index: RbacIndex;
  decide(over?: Partial<Attributes>): Verdict;
  explain(over?: Partial<Attributes>): string;
}

function fixture(): Fixture {
  const index = new RbacIndex(group, compileRule);
  const authorizer = rbac(index, new FakeClock());
  return {
    index,
    decide: (over) => authorizer.authorize(asks(over)) as Verdict, // it does not wait for a few rules
    explain: (over) => authorizer.explain(asks(over)),
  };
}

const isAllowed = (verdict: Verdict): boolean => verdict.decision === "allow";

test("a binding gives rights in its namespace, one of the cluster everywhere [RBAC-03] [RBAC-04] [RBAC-05]", () => {
  const { index, decide } = fixture();
  index.setRole("shop", "reader", { rules: [read] });
  index.setBinding("shop", "b", { roleRef: { kind: "Role", name: "reader" }, subjects: [user("eve")] });
  assert.deepEqual(decide(), {
    decision: "allow",
    reason: 'RBAC: allowed by RoleBinding "b/shop" of Role "reader" to User "eve"',
  });
  for (const namespace of ["other", ""]) assert.ok(!isAllowed(decide({ namespace })));
  index.setRole("", "all", { rules: [{ ...read, resources: ["*"] }] });
  index.setBinding("other", "c", { roleRef: { kind: "ClusterRole", name: "all" }, subjects: [user("eve")] });
  assert.ok(isAllowed(decide({ namespace: "other" })));
  assert.ok(!isAllowed(decide({ namespace: "" })));
  index.setBinding("", "d", { roleRef: { kind: "ClusterRole", name: "all" }, subjects: [members("readers")] });
  assert.deepEqual(decide({ namespace: "third" }), {
    decision: "allow",
    reason: 'RBAC: allowed by ClusterRoleBinding "d" of ClusterRole "all" to Group "readers"',
  });
});

test("rights that are taken away are gone at once, and other rights stay [RBAC-01] [RBAC-02]", () => {
  const { index, decide } = fixture();
  index.setRole("shop", "reader", { rules: [read] });
  const roleRef = { kind: "Role", name: "reader" };
  index.setBinding("shop", "b", { roleRef, subjects: [user("eve")] });
  index.setBinding("shop", "c", { roleRef, subjects: [members("readers"), user("bob")] });
  index.setBinding("shop", "b", undefined);
  assert.ok(isAllowed(decide()));
  index.setBinding("shop", "c", { roleRef, subjects: [user("bob")] });
  assert.ok(!isAllowed(decide()));
  assert.ok(isAllowed(decide({ user: { name: "bob", groups: [] } })));
  index.setRole("shop", "reader", { rules: [{ ...read, verbs: ["get"] }] });
  assert.ok(!isAllowed(decide({ user: { name: "bob", groups: [] } })));
  assert.ok(isAllowed(decide({ user: { name: "bob", groups: [] }, verb: "get" })));
  index.clear("bindings", false);
  assert.ok(isAllowed(decide({ user: { name: "bob", groups: [] }, verb: "get" })));
  index.clear("bindings", true);
  assert.ok(!isAllowed(decide({ user: { name: "bob", groups: [] }, verb: "get" })));
});

test("a role of another namespace, or one that is not there, gives nothing and is named [RBAC-06]", () => {
  const { index, decide } = fixture();
  index.setRole("other", "reader", { rules: [read] });
  index.setBinding("shop", "b", {
    roleRef: { kind: "Role", name: "reader" },
    subjects: [user("eve"), members("readers")],
  });
  assert.deepEqual(decide(), {
    decision: "noOpinion",
    reason: `RBAC: role.${group} "reader" not found`,
  });
  index.setBinding("", "c", { roleRef: { kind: "ClusterRole", name: "gone" }, subjects: [user("eve")] });
  index.setBinding("", "d", { roleRef: { kind: "ClusterRole", name: "gone" }, subjects: [user("eve")] });
  assert.equal(decide().reason, `RBAC: [clusterrole.${group} "gone" not found, role.${group} "reader" not found]`);
  // A cluster binding cannot refer to a role of a namespace, whatever it says.
  index.setBinding("", "e", { roleRef: { kind: "Role", name: "reader" }, subjects: [user("eve")] });
  assert.ok(!isAllowed(decide({ namespace: "other" })));
});

test("service accounts are bound by their names, at home or elsewhere [RBAC-24] [RBAC-25] [AUTHRES-48]", () => {
  const { index, decide } = fixture();
  index.setRole("shop", "reader", { rules: [read] });
  const account = (name: string): UserInfo => ({ name: `system:serviceaccount:${name}`, groups: [] });
  index.setBinding("shop", "b", {
    roleRef: { kind: "Role", name: "reader" },
    subjects: [
      { kind: "ServiceAccount", name: "robot" },
      { kind: "ServiceAccount", name: "far", namespace: "away" },
    ],
  });
  assert.equal(
    decide({ user: account("shop:robot") }).reason,
    'RBAC: allowed by RoleBinding "b/shop" of Role "reader" to ServiceAccount "robot/shop"',
  );
  assert.equal(
    decide({ user: account("away:far") }).reason,
    'RBAC: allowed by RoleBinding "b/shop" of Role "reader" to ServiceAccount "far/away"',
  );
  for (const name of ["away:robot", "shop:far", "shop:robot:x"]) assert.ok(!isAllowed(decide({ user: account(name) })));
});

test("the first matching subject is named, and subjects of unknown kinds match no user", () => {
  const { index, decide } = fixture();
  index.setRole("shop", "reader", { rules: [read] });
  const subjects = [{ kind: "Robot", name: "eve" }, members("readers"), user("eve"), members("readers")];
  index.setBinding("shop", "b", { roleRef: { kind: "Role", name: "reader" }, subjects });
  assert.match(decide().reason, /to Group "readers"$/);
  index.setBinding("shop", "b", { roleRef: { kind: "Role", name: "reader" }, subjects: subjects.slice(0, 1) });
  assert.ok(!isAllowed(decide()));
});

const cases: readonly [
  name: string,
  rule: PolicyRule,
  yes: readonly Partial<Attributes>[],
  no: readonly Partial<Attributes>[],
][] = [
  [
    "verbs, groups and resources are words or stars [RBAC-17] [RBAC-18] [RBAC-19] [AUTHZ-13]",
    { verbs: ["*"], apiGroups: ["", "apps"], resources: ["configmaps"] },
    [{ verb: "delete" }, { verb: "impersonate", group: "apps" }],
    [{ group: "batch" }, { resource: "secrets" }],
  ],
  [
    "a subresource is written behind its resource and covered by neither [RBAC-11] [RBAC-12]",
    { verbs: ["get"], apiGroups: [""], resources: ["pods/log", "*/scale"] },
    [
      { verb: "get", resource: "pods", subresource: "log" },
      { verb: "get", resource: "anything", subresource: "scale" },
    ],
    [
      { verb: "get", resource: "pods" },
      { verb: "get", resource: "scale" },
      { verb: "get", resource: "pods", subresource: "exec" },
    ],
  ],
  [
    "a star among resources covers subresources [RBAC-17]",
    { verbs: ["get"], apiGroups: ["*"], resources: ["*"] },
    [{ verb: "get", resource: "pods", subresource: "log", group: "x" }],
    [{ verb: "list" }],
  ],
  [
    "names narrow what has a name, and exclude what has none [RBAC-13] [RBAC-14] [RBAC-15] [RBAC-16] [RBAC-21] [AUTHZ-14]",
    { verbs: ["*"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"] },
    [
      { verb: "get", name: "a" },
      { verb: "list", name: "a" },
    ],
    [{ verb: "get", name: "b" }, { verb: "list" }, { verb: "create" }, { verb: "deletecollection" }],
  ],
  [
    "paths are exact, or begin what they cover [RBAC-20] [AUTHZ-23] [AUTHZ-24]",
    { verbs: ["get"], nonResourceURLs: ["/a/*", "/b"] },
    ["/a/", "/a/b/c", "/b"].map((path) => ({
      isResourceRequest: false,
      path,
      verb: "get",
      namespace: "",
      resource: "",
    })),
    [
      ...["/a", "/b/", "/", "", "/A/b"].map((path) => ({ isResourceRequest: false, path, verb: "get", namespace: "" })),
      { isResourceRequest: false, path: "/b", verb: "post", namespace: "" },
      { verb: "get", path: "/b" },
    ],
  ],
  [
    "long lists decide as short ones do",
    { verbs: ["get"], apiGroups: [""], resources: Array.from({ length: 50 }, (_, i) => `r${i}`) },
    [{ verb: "get", resource: "r49" }],
    [{ verb: "get", resource: "r50" }],
  ],
];

for (const [name, rule, yes, no] of cases) {
  test(name, () => {
    const { index, decide } = fixture();
    index.setRole("", "role", { rules: [rule] });
    index.setBinding("", "b", { roleRef: { kind: "ClusterRole", name: "role" }, subjects: [user("eve")] });
    for (const over of yes) assert.ok(isAllowed(decide(over)), JSON.stringify(over));
    for (const over of no) assert.ok(!isAllowed(decide(over)), JSON.stringify(over));
  });
}

test("names that are members of every object are ordinary names", () => {
  const { index, decide } = fixture();
  for (const name of ["__proto__", "constructor", "toString"]) {
    assert.ok(!isAllowed(decide({ user: { name, groups: [name] }, namespace: name })));
    index.setRole(name, name, { rules: [read] });
    index.setBinding(name, name, { roleRef: { kind: "Role", name }, subjects: [user(name)] });
    const member: UserInfo = { name, groups: [] };
    assert.ok(isAllowed(decide({ user: member, namespace: name })));
    for (const over of [{ verb: name }, { group: name }, { resource: name }, { subresource: name }]) {
      assert.ok(!isAllowed(decide({ user: member, namespace: name, ...over })), JSON.stringify(over));
    }
    index.setRole(name, name, { rules: [{ ...read, resourceNames: ["one"] }] });
    assert.ok(!isAllowed(decide({ user: member, namespace: name, name })));
  }
});

test("rules are listed once each, those of the cluster first [AUTHRES-18]", () => {
  const { index } = fixture();
  index.setRole("", "paths", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] });
  index.setBinding("", "p", {
    roleRef: { kind: "ClusterRole", name: "paths" },
    subjects: [user("eve"), members("readers")],
  });
  index.setRole("shop", "reader", { rules: [read] });
  index.setBinding("shop", "b", {
    roleRef: { kind: "Role", name: "reader" },
    subjects: [user("eve"), members("readers")],
  });
  index.setBinding("shop", "c", { roleRef: { kind: "Role", name: "gone" }, subjects: [user("eve")] });
  assert.deepEqual(rbac(index, new FakeClock()).rulesFor(eve, "shop"), {
    resourceRules: [read],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
    incomplete: false,
    errors: [`role.${group} "gone" not found`],
  });
});

const many = (count: number): PolicyRule[] =>
  Array.from({ length: count }, (_, i) => ({ verbs: ["get"], apiGroups: [`g${i}`], resources: ["x"] }));

test("a decision about many rules, bindings or groups is the same, and lets others go on meanwhile", async () => {
  const { index } = fixture();
  const clock = new FakeClock();
  const authorizer = rbac(index, clock);
  index.setRole("", "large", { rules: [...many(15_000), read] });
  for (let i = 0; i < 1000; i++) {
    index.setBinding("", `b${i}`, { roleRef: { kind: "ClusterRole", name: "large" }, subjects: [members("readers")] });
  }
  const groups = Array.from({ length: 5000 }, (_, i) => `group${i}`);
  for (const name of ["eve", "eva"]) {
    const asker = { name, groups: [...groups, "readers"] };
    const allowed = authorizer.authorize(asks({ user: asker }));
    assert.ok(allowed instanceof Promise);
    assert.deepEqual(await allowed, {
      decision: "allow",
      reason: 'RBAC: allowed by ClusterRoleBinding "b0" of ClusterRole "large" to Group "readers"',
    });
  }
  let isRefused = false;
  const refused = Promise.resolve(authorizer.authorize(asks({ verb: "delete" }))).finally(() => (isRefused = true));
  await Promise.resolve();
  assert.equal(isRefused, false);
  assert.deepEqual(await refused, { decision: "noOpinion", reason: "" });
});

test("of roles that are not there the first hundred are named", () => {
  const { index, decide } = fixture();
  for (let i = 0; i < 500; i++) {
    index.setBinding("", `b${i}`, { roleRef: { kind: "ClusterRole", name: `gone${i}` }, subjects: [user("eve")] });
  }
  assert.equal(decide().reason.split(", ").length, 100);
});

test("an answer with too many rules is cut, and says so", () => {
  const { index } = fixture();
  index.setRole("", "large", { rules: many(15_000) });
  for (let i = 0; i < 100; i++) {
    index.setBinding("", `b${i}`, { roleRef: { kind: "ClusterRole", name: "large" }, subjects: [user("eve")] });
  }
  const { resourceRules, incomplete, errors } = rbac(index, new FakeClock()).rulesFor(eve, "shop");
  assert.deepEqual([resourceRules.length, incomplete], [25_000, true]);
  assert.deepEqual(errors, ["the rules have more than 100000 words: not all are shown"]);
});

test("an explanation names the rule that allows, or the nearest and what it lacks", () => {
  const { index, explain } = fixture();
  assert.equal(
    explain(),
    'RBAC: no binding in the cluster or namespace "shop" names user "eve" (groups=["readers" "system:authenticated"])',
  );
  index.setRole("shop", "reader", { rules: [{ verbs: ["get"], apiGroups: ["apps"], resources: ["x"] }, read] });
  index.setBinding("shop", "b", { roleRef: { kind: "Role", name: "reader" }, subjects: [user("eve")] });
  const binding = 'RoleBinding "b/shop" of Role "reader" to User "eve"';
  const rule = '{APIGroups:[""], Resources:["configmaps"], Verbs:["get" "list"]}';
  assert.equal(explain(), `RBAC: allowed by ${binding}, rule 1 ${rule}`);
  assert.equal(
    explain({ verb: "delete", name: "c" }),
    'RBAC: 1 binding in the cluster or namespace "shop" for user "eve" (groups=["readers" "system:authenticated"]), ' +
      `no rule allows it; nearest is rule 1 ${rule} of ${binding}, which lacks verb "delete"`,
  );
  index.setBinding("shop", "c", { roleRef: { kind: "Role", name: "gone" }, subjects: [user("eve")] });
  assert.match(
    explain({ verb: "delete" }),
    /; RoleBinding "c\/shop" of Role "gone" to User "eve": role\.\S+ "gone" not found$/,
  );
});

test("a rule for paths is never the nearest to a resource, nor the other way round", () => {
  const { index, explain } = fixture();
  index.setRole("", "viewer", { rules: [{ verbs: ["list"], nonResourceURLs: ["/healthz"] }] });
  index.setBinding("", "v", { roleRef: { kind: "ClusterRole", name: "viewer" }, subjects: [user("eve")] });
  assert.match(explain({ verb: "list" }), /, no rule allows it$/);
  index.setRole("", "reader", { rules: [{ verbs: ["watch"], apiGroups: ["apps"], resources: ["x"] }] });
  index.setBinding("", "r", { roleRef: { kind: "ClusterRole", name: "reader" }, subjects: [user("eve")] });
  assert.match(
    explain({ verb: "list" }),
    /ClusterRole "reader" .*, which lacks verb "list", API group "", resource "configmaps"$/,
  );
  assert.match(
    explain({ isResourceRequest: false, path: "/metrics", verb: "watch" }),
    /ClusterRole "viewer" .*, which lacks verb "watch", path "\/metrics"$/,
  );
});

test("an explanation looks at so many bindings and rules, and shows so many groups", () => {
  const { index, explain } = fixture();
  for (let i = 0; i < 6000; i++) {
    index.setBinding("shop", `b${i}`, { roleRef: { kind: "Role", name: "gone" }, subjects: [user("eve")] });
  }
  const groups = Array.from({ length: 1000 }, (_, i) => `g${i}`);
  const text = explain({ user: { name: "eve", groups } });
  assert.match(text, /"g19"\] and 980 more\), no rule allows it; the first 5000 bindings and rules were looked at; /);
  assert.ok(text.length < 3000);
});
