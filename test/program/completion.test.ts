/** `binnacle completion`: what is offered for a line, and that bash offers it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { temporaryFolder } from "../harness.ts";
import { program, runProgram, type Serving, serveProgram } from "./program.ts";

let folder: string;
let serving: Serving;

before(async () => {
  folder = temporaryFolder();
  serving = await serveProgram(folder, "--data-dir=data", "--storage=memory");
});
after(async () => {
  serving.child.kill();
  await serving.ended;
});

/** Returns the texts that a shell is offered for the last word of a line. */
async function offered(shell: string, ...words: readonly string[]): Promise<string[]> {
  const { stdout, stderr, code } = await runProgram(["complete-line", shell, "--", ...words], folder);
  assert.equal(code, 0, stderr);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0]!]));
}

test("commands, flags and their values are offered", async () => {
  assert.deepEqual(await offered("zsh", "his"), ["history"]);
  assert.deepEqual(await offered("zsh", "get", "--all-n"), ["--all-namespaces"]);
  assert.deepEqual(await offered("zsh", "get", "--output="), [
    "--output=json",
    "--output=yaml",
    "--output=name",
    "--output=wide",
    "--output=jsonpath=",
  ]);
  assert.deepEqual(await offered("fish", "get", "-o", "y"), ["yaml"]);
  assert.deepEqual(await offered("zsh", "auth", "who"), ["whoami"]);
  assert.deepEqual(await offered("zsh", "who", ""), ["can"]);
  assert.deepEqual(await offered("zsh", "why", "delete"), ["delete", "deletecollection"]);
  assert.deepEqual(await offered("zsh", "serve", "--storage="), ["--storage=disk", "--storage=memory"]);
});

test("files are left to the shell, and nothing is offered for what is unknown", async () => {
  for (const line of [
    ["apply", "-f", ""],
    ["serve", "--data-dir", ""],
    ["import", ""],
  ]) {
    assert.deepEqual(await offered("zsh", ...line), [":files"], line.join(" "));
  }
  assert.deepEqual(await offered("zsh", "unknown", ""), []);
  assert.deepEqual(await offered("zsh", "get", "configmaps", "--data-dir=nowhere", ""), []);
  assert.deepEqual(await offered("zsh", "get", "unknownkinds", "--data-dir=data", ""), []);
});

test("kinds, namespaces and names of the cluster are offered", async () => {
  assert.deepEqual(await offered("zsh", "get", "--data-dir=data", "configm"), ["configmaps"]);
  assert.deepEqual(await offered("zsh", "get", "--data-dir=data", "configmaps", ""), ["kube-root-ca.crt"]);
  assert.deepEqual(await offered("zsh", "delete", "--data-dir=data", "configmaps/"), ["configmaps/kube-root-ca.crt"]);
  assert.deepEqual(await offered("zsh", "get", "--data-dir=data", "-n", "def"), ["default"]);
});

test("a name that a shell would run is not offered", async () => {
  const role = ["create", "clusterrole", "$(touch${IFS}here)", "--verb=get", "--resource=pods", "--data-dir=data"];
  assert.equal((await runProgram(role, folder)).code, 0);
  const roles = await offered("bash", "get", "--data-dir=data", "clusterroles", "");
  assert.ok(roles.includes("cluster-admin"));
  assert.deepEqual(
    roles.filter((name) => /[^\w:.-]/.test(name)),
    [],
  );
});

test("bash, which divides words at = and :, is offered the part behind", async () => {
  assert.deepEqual(await offered("bash", "get", "--output", "=", "y"), ["yaml"]);
  assert.deepEqual(await offered("bash", "get", "--output", "="), ["json", "yaml", "name", "wide", "jsonpath="]);
});

const hasBash = spawnSync("bash", ["-c", "true"]).status === 0;

test("the script of bash fills in a line", { skip: hasBash ? false : "no bash is here" }, () => {
  const script = join(folder, "complete.bash");
  writeFileSync(
    script,
    `binnacle() { ${[process.execPath, ...program].map((word) => `'${word}'`).join(" ")} "$@"; }
source <(binnacle completion bash)
COMP_WORDS=(binnacle undel)
COMP_CWORD=1
_binnacle
printf '%s\\n' "\${COMPREPLY[@]}"
`,
  );
  const { stdout, stderr } = spawnSync("bash", [script], { cwd: folder, encoding: "utf8" });
  assert.equal(stdout, "undelete\n", stderr);
});

test("a script is printed for each shell, and another shell is refused", async () => {
  for (const [shell, pattern] of [
    ["bash", /^complete -F _binnacle binnacle$/m],
    ["zsh", /^#compdef binnacle\n/],
    ["fish", /^complete -c binnacle /m],
  ] as const) {
    assert.match((await runProgram(["completion", shell], folder)).stdout, pattern);
  }
  const { code, stderr } = await runProgram(["completion", "tcsh"], folder);
  assert.equal(code, 1);
  assert.match(stderr, /name one shell of bash, zsh, fish/);
});

test("the manual page has each command of the help, its flags and examples", async () => {
  const { stdout: page, stderr, code } = await runProgram(["manual"], folder);
  assert.equal(code, 0, stderr);
  const { stdout: help } = await runProgram(["--help"], folder);
  for (const [, name] of help.matchAll(/^ {2}([a-z-]+)/gm)) {
    assert.ok(page.includes(`\n.SS binnacle ${name!.replaceAll("-", "\\-")}\n`), name!);
  }
  assert.ok(page.includes("\n.B \\-\\-token\\-auth\\-file="));
  // A line of text that began like a request would be one.
  for (const line of page.split("\n")) assert.match(line, /^(?:[^.']|$|\.(?:TH|SH|SS|B|I|RI|TP|PP|nf|fi)\b|\.TP$)/);
});
