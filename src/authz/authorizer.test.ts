/** The order of authorizers, and the text of refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserInfo } from "#meta/user-info.ts";
import { attributes } from "./attributes-for-tests.ts";
import { type Attributes, type Authorizer, type Decision, union } from "./authorizer.ts";
import { forbiddenError } from "./forbidden.ts";
import { privilegedGroups } from "./privileged-groups.ts";

const bob: UserInfo = { name: "bob", groups: ["system:authenticated"] };
const root: UserInfo = { name: "root", groups: ["system:masters", "system:authenticated"] };

const asks = (over: Partial<Attributes>): Attributes => attributes({ user: bob, namespace: "", name: "", ...over });

const path = (user: UserInfo, text: string, verb = "get"): Attributes =>
  asks({ user, path: text, verb, isResourceRequest: false, resource: "" });

async function decide(using: Authorizer, of: Attributes): Promise<Decision> {
  return (await using.authorize(of)).decision;
}

test("the first allow or deny is final, in the order given [AUTHZ-03] [AUTHZ-04] [AUTHZ-05] [AUTHZ-06]", async () => {
  const questions: string[] = [];
  const stub = (name: string, decision: Decision): Authorizer => ({
    authorize() {
      questions.push(name);
      return { decision, reason: name };
    },
  });
  const verdict = async (...list: readonly Authorizer[]): Promise<string> => {
    const { decision, reason } = await union(list).authorize(asks({}));
    return `${decision} ${reason}`;
  };
  assert.equal(await verdict(stub("a", "allow"), stub("b", "deny")), "allow a");
  assert.equal(await verdict(stub("c", "deny"), stub("d", "allow")), "deny c");
  assert.equal(await verdict(stub("e", "noOpinion"), stub("f", "allow")), "allow f");
  assert.equal(await verdict(stub("g", "noOpinion"), stub("h", "noOpinion")), "noOpinion g\nh");
  assert.deepEqual(questions, ["a", "c", "e", "f", "g", "h"]);
  assert.equal((await union([]).authorize(asks({}))).decision, "noOpinion");
});

test("system:masters may do everything [AUTHZ-52] [AUTHZ-53]", async () => {
  const using = union([privilegedGroups(["system:masters"]), { authorize: () => ({ decision: "deny", reason: "" }) }]);
  assert.equal(await decide(using, asks({ user: root, verb: "delete" })), "allow");
  assert.equal(await decide(using, path(root, "/metrics")), "allow");
  assert.equal(await decide(using, asks({})), "deny");
});

test("a refusal names user, verb, resource, group and scope [AUTHZ-07] [AUTHZ-09] [AUTHZ-10] [AUTHZ-11] [AUTHZ-12] [ERR-09]", () => {
  const refusal = (over: Partial<Attributes>, reason = ""): unknown => {
    const { status } = forbiddenError(asks(over), reason);
    return [status.code, status.reason, status.message, status.details];
  };
  assert.deepEqual(refusal({ verb: "list", namespace: "x" }), [
    403,
    "Forbidden",
    'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "x"',
    { kind: "configmaps" },
  ]);
  assert.deepEqual(
    refusal({ group: "apps", resource: "deployments", subresource: "scale", name: "d", namespace: "x" }, "no rule"),
    [
      403,
      "Forbidden",
      'deployments.apps "d" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" ' +
        'in the namespace "x": no rule',
      { name: "d", group: "apps", kind: "deployments" },
    ],
  );
  assert.deepEqual(refusal({ resource: "nodes", verb: "" }), [
    403,
    "Forbidden",
    'nodes is forbidden: User "bob" cannot  resource "nodes" in API group "" at the cluster scope',
    { kind: "nodes" },
  ]);
  assert.deepEqual(
    forbiddenError(path({ name: "<b>&", groups: [] }, "/a/b c"), "").status.message,
    'forbidden: User "&lt;b&gt;&amp;" cannot get path "/a/b c"',
  );
});
