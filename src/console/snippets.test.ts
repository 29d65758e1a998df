/** Tests of requests as commands: what somebody copies into a shell does what it says, whatever names have in them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { ServedKind } from "./kinds.ts";
import { asRequest, type ExploredRequest, snippets } from "./snippets.ts";

const deployments: ServedKind = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  resource: "deployments",
  namespaced: true,
  verbs: [],
  shortNames: [],
};

const request = (changes: Partial<ExploredRequest>): ExploredRequest => ({
  method: "GET",
  path: "/version",
  contentType: "application/json",
  body: "",
  ...changes,
});

const textOf = (title: string, changes: Partial<ExploredRequest>): string =>
  snippets(request(changes), [deployments], "https://cluster").find((one) => one.title === title)!.text;

test("kubectl gets the kind, the name, the namespace and the selector of a path", () => {
  const base = "/apis/apps/v1/namespaces/shop/deployments";
  assert.strictEqual(textOf("kubectl", { path: `${base}/web` }), "kubectl get deployments.apps web -n shop");
  assert.strictEqual(
    textOf("kubectl", { path: `${base}?labelSelector=a%3Db` }),
    "kubectl get deployments.apps -n shop -l a=b",
  );
  assert.strictEqual(textOf("kubectl", { path: "/apis/apps/v1/deployments" }), "kubectl get deployments.apps -A");
  assert.strictEqual(
    textOf("kubectl", { method: "DELETE", path: `${base}/web` }),
    "kubectl delete deployments.apps web -n shop",
  );
  assert.strictEqual(textOf("kubectl", { path: "/metrics" }), "kubectl get --raw /metrics");
});

test("a shell takes hostile names and bodies as texts", () => {
  const hostile = `'; echo broken; $(echo broken) \`echo broken\` "\\`;
  const echoed = (command: string): string =>
    execFileSync("sh", ["-c", `printf() { command printf '%s\\n' "$@"; }; ${command}`], { encoding: "utf8" });
  const path = `/apis/apps/v1/namespaces/shop/deployments/${encodeURIComponent(hostile)}`;
  const kubectl = textOf("kubectl", { path }).replace(/^kubectl/, "printf");
  assert.deepEqual(echoed(kubectl).split("\n").slice(0, 3), ["get", "deployments.apps", hostile]);
  const curl = textOf("curl", { method: "POST", path: "/x", body: hostile }).replace(/^curl/, "printf");
  assert.strictEqual(echoed(curl).trimEnd().split("\n").at(-1), hostile);
});

test("no line of a body ends the input of a command", () => {
  const path = "/apis/apps/v1/namespaces/shop/deployments";
  const body = "a: |\nEOF\necho broken\nEOF_\n";
  const command = textOf("kubectl", { method: "POST", path, body }).replace(/^kubectl .* <</, "cat <<");
  assert.strictEqual(execFileSync("sh", ["-c", command], { encoding: "utf8" }), `${body}\n`);
});

test("a path leads to no other server", () => {
  assert.deepEqual(asRequest("/api"), { path: "/api" });
  for (const path of ["", "api", "//evil.example.com", "https://evil.example.com/"])
    assert.throws(() => asRequest(path));
});
