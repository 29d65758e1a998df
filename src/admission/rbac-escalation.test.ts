/** RBAC escalation: roles, bindings, aggregation, and the verbs `escalate` and `bind`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRule } from "#api/rbac/v1.ts";
import { rbac } from "#authz/rbac.ts";
import { RbacIndex } from "#authz/rbac-index.ts";
import { compileRule } from "#authz/rules.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { attributesOf, firstRound } from "./attributes-for-tests.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { rbacEscalation } from "./rbac-escalation.ts";

const group = "rbac.authorization.k8s.io";
const context = { ...attributesOf(undefined).context, user: { name: "author", groups: ["system:authenticated"] } };
const readMaps: PolicyRule = { verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] };
const readSecrets: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
const beyond =
  'user "author" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
  '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';

/** A plugin whose author holds `rules` in namespace `n`, and `clusterRules` everywhere. */
function plugin(rules: readonly PolicyRule[], clusterRules: readonly PolicyRule[] = []) {
  const index = new RbacIndex(group, compileRule);
  index.setRole("n", "own", { rules });
  index.setBinding("n", "own", {
    roleRef: { kind: "Role", name: "own" },
    subjects: [{ kind: "User", name: "author" }],
  });
  index.setRole("", "wide", { rules: clusterRules });
  index.setBinding("", "wide", {
    roleRef: { kind: "ClusterRole", name: "wide" },
    subjects: [{ kind: "User", name: "author" }],
  });
  index.setRole("n", "secret-reader", { rules: [readSecrets] });
  return rbacEscalation({ authorizer: rbac(index, new FakeClock()), index });
}

type Plugin = ReturnType<typeof plugin>;

function role(rules: readonly PolicyRule[], more: object = {}): Unstructured {
  return { kind: "Role", apiVersion: `${group}/v1`, metadata: { name: "r" }, rules, ...more } as Unstructured;
}

function binding(kind: string, name: string): Unstructured {
  return {
    kind: "RoleBinding",
    apiVersion: `${group}/v1`,
    metadata: { name: "b" },
    roleRef: { apiGroup: group, kind, name },
  } as Unstructured;
}

function write(resource: string, object: Unstructured, more: Partial<AdmissionAttributes> = {}): AdmissionAttributes {
  const about = {
    context,
    resource: { group, version: "v1", resource },
    namespace: resource.startsWith("cluster") ? "" : "n",
  };
  return attributesOf(object, { ...about, ...more });
}

/** Returns code and message of the refusal; `allowed` when there is none. */
async function outcome(of: Plugin, attributes: AdmissionAttributes): Promise<string> {
  try {
    assert.equal(await of.admit!(attributes, firstRound), undefined);
    return "allowed";
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.status.code} ${error.status.message}`;
  }
}

test("a role may hold what its author holds there [AUTHZ-26]", async () => {
  const own = plugin([readMaps]);
  assert.equal(await outcome(own, write("roles", role([readMaps]))), "allowed");
  assert.equal(
    await outcome(own, write("roles", role([readMaps, readSecrets]))),
    `403 roles.${group} "r" is forbidden: ${beyond}`,
  );
  // A user who has a right in a namespace does not have it in the cluster.
  assert.match(
    await outcome(own, write("clusterroles", role([readMaps]))),
    /^403 clusterroles\.\S+ "r" is forbidden: user "author"/,
  );
  assert.match(await outcome(own, write("roles", role([readMaps]), { namespace: "other" })), /^403 /);
  assert.equal(await outcome(plugin([], [readMaps]), write("clusterroles", role([readMaps]))), "allowed");
});

test("the verb escalate lifts the check, by name only where the path has one [AUTHZ-26]", async () => {
  const escalate = (names: object): Plugin =>
    plugin([{ verbs: ["escalate"], apiGroups: [group], resources: ["roles"], ...names }]);
  assert.equal(await outcome(escalate({}), write("roles", role([readSecrets]))), "allowed");
  const named = escalate({ resourceNames: ["r"] });
  assert.match(await outcome(named, write("roles", role([readSecrets]), { name: "r" })), /^403 /);
  const update = { name: "r", pathName: "r", operation: "UPDATE", oldObject: role([]) } as const;
  assert.equal(await outcome(named, write("roles", role([readSecrets]), update)), "allowed");
});

test("an update is checked as a whole, unless it changes only finalizers and owners [AUTHZ-26]", async () => {
  const own = plugin([readMaps]);
  const old = role([readSecrets]);
  const update = (object: Unstructured): AdmissionAttributes =>
    write("roles", object, { operation: "UPDATE", oldObject: old, pathName: "r", name: "r" });
  assert.match(
    await outcome(own, update(role([readSecrets], { metadata: { name: "r", labels: { a: "b" } } }))),
    /^403 /,
  );
  assert.equal(
    await outcome(own, update(role([readSecrets], { metadata: { name: "r", finalizers: ["x/y"] } }))),
    "allowed",
  );
  const both = role([readSecrets, readMaps], { metadata: { name: "r", finalizers: ["x/y"] } });
  assert.match(await outcome(own, update(both)), /^403 /);
  assert.equal(await outcome(own, update(role([readMaps]))), "allowed");
});

test("aggregation needs every right there is, to begin it and to end it [AUTHZ-26] [AUTHRES-44]", async () => {
  const sum = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } };
  const refusal = `403 clusterroles.${group} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
  const some = plugin([], [readMaps]);
  assert.equal(await outcome(some, write("clusterroles", role([], sum))), refusal);
  const ends = write("clusterroles", role([]), { operation: "UPDATE", oldObject: role([], sum), pathName: "r" });
  assert.equal(await outcome(some, ends), refusal);
  const most = { verbs: ["get", "list", "update"], apiGroups: ["*"], resources: ["*"] };
  assert.equal(await outcome(plugin([], [most]), write("clusterroles", role([], sum))), refusal);
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const admin = plugin([], [everything, { verbs: ["*"], nonResourceURLs: ["*"] }]);
  assert.equal(await outcome(admin, write("clusterroles", role([], sum))), "allowed");
});

test("a binding grants what its writer holds or may bind [AUTHZ-25]", async () => {
  const bind = (names: object): Plugin =>
    plugin([{ verbs: ["bind"], apiGroups: [group], resources: ["roles"], ...names }]);
  const secrets = write("rolebindings", binding("Role", "secret-reader"));
  assert.equal(await outcome(plugin([readMaps]), secrets), `403 rolebindings.${group} "b" is forbidden: ${beyond}`);
  assert.equal(await outcome(plugin([readSecrets]), secrets), "allowed");
  assert.equal(await outcome(bind({}), secrets), "allowed");
  assert.equal(await outcome(bind({ resourceNames: ["secret-reader"] }), secrets), "allowed");
  assert.match(await outcome(bind({ resourceNames: ["other"] }), secrets), /^403 /);
  // A user who may bind roles may not bind cluster roles.
  assert.match(await outcome(bind({}), write("rolebindings", binding("ClusterRole", "wide-open"))), /^404 /);
});

test("a missing role can be bound only with the permission to bind it [AUTHZ-25]", async () => {
  const own = plugin([readMaps]);
  assert.equal(
    await outcome(own, write("rolebindings", binding("Role", "gone"))),
    `404 rolebindings.${group} "gone" not found`,
  );
  assert.equal(
    await outcome(own, write("clusterrolebindings", binding("ClusterRole", "gone"))),
    `404 clusterrolebindings.${group} "gone" not found`,
  );
  assert.equal(
    await outcome(own, write("rolebindings", binding("Robot", "gone"))),
    '500 unsupported role reference kind: "Robot"',
  );
  const may = plugin([{ verbs: ["bind"], apiGroups: [group], resources: ["roles"] }]);
  assert.equal(await outcome(may, write("rolebindings", binding("Role", "gone"))), "allowed");
});

test("members of system:masters, other resources and subresources are not checked", async () => {
  const none = plugin([]);
  const masters = { context: { ...context, user: { name: "root", groups: ["system:masters"] } } };
  assert.equal(await outcome(none, write("roles", role([readSecrets]), masters)), "allowed");
  assert.equal(
    await outcome(
      none,
      write("configmaps", role([readSecrets]), { resource: { group: "", version: "v1", resource: "configmaps" } }),
    ),
    "allowed",
  );
});

test("errors of the look-up are reported when the rights do not suffice", async () => {
  const index = new RbacIndex(group, compileRule);
  index.setBinding("n", "b", { roleRef: { kind: "Role", name: "gone" }, subjects: [{ kind: "User", name: "author" }] });
  const own = rbacEscalation({ authorizer: rbac(index, new FakeClock()), index });
  const text = await outcome(own, write("roles", role([readSecrets])));
  assert.ok(text.endsWith(`Verbs:["get"]}; resolution errors: [roles.${group} "gone" not found]`), text);
  index.setBinding("", "c", {
    roleRef: { kind: "ClusterRole", name: "lost" },
    subjects: [{ kind: "User", name: "author" }],
  });
  const two = await outcome(own, write("roles", role([readSecrets])));
  // Upstream: a list of one error, which is a list itself.
  const both = `[[roles.${group} "lost" not found, roles.${group} "gone" not found]]`;
  assert.ok(two.endsWith(`Verbs:["get"]}; resolution errors: ${both}`), two);
});
