/** Whether rules cover other rules, and the text of missing ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRule } from "#api/rbac/v1.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { covers, missingRights, ruleText } from "./rules-cover.ts";

const list = (text: string): readonly string[] => text.split(" ").map((word) => (word === "core" ? "" : word));
const rule = (groups: string, resources: string, verbs: string, names?: string): PolicyRule => ({
  apiGroups: list(groups),
  resources: list(resources),
  verbs: list(verbs),
  ...(names === undefined ? {} : { resourceNames: list(names) }),
});
const paths = (urls: string, verbs = "get"): PolicyRule => ({ nonResourceURLs: list(urls), verbs: list(verbs) });

/** Compares the lines about missing rights; `true` when none is missing. */
function check(held: readonly PolicyRule[], wanted: readonly PolicyRule[], expected: true | readonly string[]): void {
  const coverage = covers(held, wanted);
  assert.deepEqual(coverage.covered || coverage.missing.split("\n"), expected);
}

const pods = rule("core", "pods", "get list");

test("a rule covers itself, a part of itself and nothing beyond [AUTHZ-26]", () => {
  check([pods], [pods], true);
  check([pods], [rule("core", "pods", "list")], true);
  check([], [pods], ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']);
  check(
    [pods],
    [rule("core", "pods secrets", "get delete")],
    [
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ],
  );
  check([pods], [rule("apps", "pods", "get")], ['{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}']);
});

test("several rules together cover one that none of them covers [AUTHZ-26]", () => {
  const held = [rule("core", "pods", "get"), rule("core", "secrets", "get list"), rule("core", "pods", "list")];
  check(held, [rule("core", "pods secrets", "get list")], true);
});

test("stars cover words, and only a star covers a star [AUTHZ-26]", () => {
  const all = [rule("*", "*", "*")];
  check(all, [rule("* apps", "* pods/log", "* get", "a b")], true);
  check(all, [paths("/x")], ['{NonResourceURLs:["/x"], Verbs:["get"]}']);
  check([rule("core", "*", "get")], [rule("core", "pods/log", "get")], true);
  check([rule("core", "*/log", "get")], [rule("core", "pods/log", "get")], true);
  check(
    [rule("core", "*/log", "get")],
    [rule("core", "pods", "get")],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
  );
  check(
    [rule("core", "pods", "get")],
    [rule("core", "*", "get")],
    ['{APIGroups:[""], Resources:["*"], Verbs:["get"]}'],
  );
  check(
    [rule("core", "pods", "get list watch create update patch delete deletecollection")],
    [rule("core", "pods", "*")],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'],
  );
});

test("rights by name cover these names only, and never all [AUTHZ-26]", () => {
  const named = rule("core", "secrets", "get", "a b");
  check([named], [rule("core", "secrets", "get", "b")], true);
  check([rule("core", "secrets", "get")], [named], true);
  check(
    [named],
    [rule("core", "secrets", "get", "a c")],
    ['{APIGroups:[""], Resources:["secrets"], ResourceNames:["c"], Verbs:["get"]}'],
  );
  check([named], [rule("core", "secrets", "get")], ['{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}']);
});

test("paths cover themselves, and with a star what begins so [AUTHZ-26]", () => {
  check([paths("/a/* /b")], [paths("/a/b/c /b"), paths("/a/*")], true);
  check([paths("/a/*")], [paths("/a")], ['{NonResourceURLs:["/a"], Verbs:["get"]}']);
  check([paths("/a")], [paths("/a", "get post")], ['{NonResourceURLs:["/a"], Verbs:["post"]}']);
  check([paths("*", "*")], [paths("/metrics *", "get *")], true);
});

test("a small role that names a great many rights costs little, and is refused unless one rule covers it", async () => {
  const wide = (length: number): ReturnType<typeof rule> => {
    const many = (prefix: string): string => Array.from({ length }, (_, i) => `${prefix}${i}`).join(" ");
    return rule(many("g"), many("r"), many("v"), many("n"));
  };
  check([rule("*", "*", "*")], [wide(300)], true);
  await growsInProportion(150, (length) => {
    const coverage = covers([pods], [wide(length)]);
    assert.ok(!coverage.covered);
    assert.match(coverage.missing, /^more than 50000 combinations of group, resource, verb and name/);
  });
});

test("many rights beside many rules that name the same resource are compared up to a bound", async () => {
  const names = Array.from({ length: 2000 }, (_, i) => `n${i}`);
  const held = names.map((name) => rule("core", "pods", "get", name));
  const wanted = rule("core", "pods", "get", names.join(" "));
  check(held, [wanted], true);
  await growsInProportion(20, (length) => {
    const coverage = covers(
      held,
      Array.from({ length }, () => wanted),
    );
    assert.ok(!coverage.covered);
    assert.match(coverage.missing, /^more combinations of group, resource, verb and name than can be compared/);
  });
});

test("a role that is bound many times is compared once", () => {
  const role = rule("core", "pods", "get", "a");
  const held = Array.from({ length: 100_000 }, () => role);
  const wanted = rule("core", "pods", "get", Array.from({ length: 1000 }, (_, i) => `n${i}`).join(" "));
  const coverage = covers(held, [wanted]);
  assert.ok(!coverage.covered);
  assert.match(
    coverage.missing,
    /^\{APIGroups:\[""\], Resources:\["pods"\], ResourceNames:\["n0"\], Verbs:\["get"\]\}/,
  );
});

test("a rule that says null for a list covers nothing, and wants nothing", () => {
  const { verbs: _verbs, ...rest } = pods;
  const broken = { ...rest, verbs: null } as unknown as PolicyRule; // as a body may have it
  check([pods], [broken], true);
  check([broken], [pods], ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']);
});

test("a message about a great many missing rights is cut", () => {
  const resources = Array.from({ length: 600 }, (_, i) => `r${i}`).join(" ");
  const coverage = covers([], [rule("core", resources, "get")]);
  assert.ok(!coverage.covered);
  const lines = coverage.missing.split("\n");
  assert.deepEqual([lines.length, lines.at(-1)], [501, "and 100 more"]);
  const names = Array.from({ length: 6000 }, (_, i) => `n${i}`).join(" ");
  const long = covers([], [rule("core", "pods", "get", names)]);
  assert.equal(!long.covered && long.missing.split("\n").at(-1), "and at least 4501 more");
});

test("the rights that a role lost are reported one by one", () => {
  assert.deepEqual(missingRights([pods], [rule("core", "pods nodes", "get")]), [
    { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
  ]);
});

test("texts are quoted as Go quotes them", () => {
  assert.equal(ruleText(rule("core", 'a"b', "get")), '{APIGroups:[""], Resources:["a\\"b"], Verbs:["get"]}');
  // Control and invisible characters are shown as escapes on a terminal.
  const odd = rule("core", "\x00\x1b[2J\u202e\u200b\u00a0\u{e0001}é字", "get");
  const escapes = String.raw`\x00\x1b[2J\u202e\u200b\u00a0\U000e0001é字`;
  assert.equal(ruleText(odd), `{APIGroups:[""], Resources:["${escapes}"], Verbs:["get"]}`);
});
