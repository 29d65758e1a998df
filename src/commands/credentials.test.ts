/** Errors of `binnacle token` and `binnacle kubeconfig` about wrong arguments. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kubeconfig } from "./kubeconfig.ts";
import { StartError } from "#std/start-error.ts";
import { token } from "./token.ts";

test("wrong arguments of token and kubeconfig are told in one line that says what to do", async () => {
  const cases: readonly [string[], RegExp][] = [
    [["token"], /binnacle token create \[ACCOUNT\]/],
    [["token", "delete"], /binnacle token create \[ACCOUNT\]/],
    [["token", "create", "a", "b"], /binnacle token create \[ACCOUNT\]/],
    [
      ["token", "create", "--data-dir=nowhere"],
      /no admin\.kubeconfig in nowhere: name the server's folder with --data-dir/,
    ],
    [["token", "create", "--kubeconfig=none"], /none: cannot be read: no such file/],
    [["token", "create", "--duration=soon"], /invalid value "soon" for --duration/],
    [["token", "create", "--bound-object-name=x"], /need --bound-object-kind/],
    [["token", "create", "--bound-object-kind=Pod"], /needs --bound-object-name/],
    [["token", "create", "--bound-object-kind=ConfigMap", "--bound-object-name=x"], /must be Pod, Secret or Node/],
    [["token", "create", "-o=yaml"], /must be one of text, json/],
    [["kubeconfig"], /say for whom: --user NAME or --serviceaccount NAMESPACE\/NAME/],
    [["kubeconfig", "--user=a", "--serviceaccount=b/c"], /one of them/],
    [["kubeconfig", "--group=a"], /add --user NAME/],
    [["kubeconfig", "--serviceaccount=a/b", "--group=c"], /--group goes with --user/],
    [["kubeconfig", "--serviceaccount=a"], /must be NAMESPACE\/NAME/],
    [["kubeconfig", "--user=a", "--kubeconfig=x"], /name it with --data-dir/],
    [["kubeconfig", "--user=a\u0007"], /cannot be in a certificate/],
    [["kubeconfig", "--user=a", "--duration=-1h"], /must be a duration such as/],
    [["kubeconfig", "--user=a", "--duration=0"], /must be a duration such as/],
    [["kubeconfig", "stray"], /unexpected argument "stray"/],
    [["kubeconfig", "--usr=a"], /unknown flag --usr \(did you mean --user\?\)/],
  ];
  for (const [[name, ...args], pattern] of cases) {
    await assert.rejects((name === "token" ? token : kubeconfig)(args), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, pattern);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  }
});

test("a folder that cannot be looked into is not taken for an empty one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-commands-"));
  symlinkSync("loop", join(folder, "loop"));
  try {
    await assert.rejects(token(["create", `--data-dir=${join(folder, "loop")}`]), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, /^cannot read .*\/loop\/admin\.kubeconfig: /);
      return true;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
