/**
 * A controller-runtime suite, built from its Go module (`test/envtest`), with the programs of `binnacle envtest`. The
 * test needs Go and cached modules: `cd test/envtest && go mod download`.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../go-program.ts";
import { eventually, temporaryFolder } from "../harness.ts";
import { runProgram, startProgram } from "./program.ts";

const suite = fileURLToPath(new URL("../envtest/", import.meta.url));

/** Runs Go without a network; returns its output when it fails. */
function go(args: readonly string[], more: NodeJS.ProcessEnv = {}): string | undefined {
  const env = { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local", ...more };
  const { status, error, stdout, stderr } = spawnSync("go", args, { cwd: suite, env, encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? `${stdout}${stderr}`);
}

function missingProgram(): string | undefined {
  if (go(["version"]) !== undefined) return "Go is not here";
  return go(["list", "-deps", "-test", "."]) === undefined ? undefined : "the Go modules of test/envtest are not here";
}

const skip = missingProgram();

test(
  "a suite of controller-runtime runs on the programs of binnacle envtest",
  skip === undefined ? {} : { skip },
  async () => {
    const folder = temporaryFolder();
    const assets = join(folder, "assets");
    const written = await runProgram(["envtest", assets], folder);
    assert.equal(written.stdout, `${assets}\n`, written.stderr);
    assert.equal(go(["test", "-count=1", "."], { KUBEBUILDER_ASSETS: assets }), undefined);
  },
);

test("binnacle envtest links the kubectl of the path, and prints the folder alone", async () => {
  const folder = temporaryFolder();
  const assets = join(folder, "assets");
  const tools = join(folder, "tools");
  mkdirSync(tools);
  const without = await runProgram(["envtest", assets], folder, { PATH: tools });
  assert.deepEqual([without.code, without.stdout], [0, `${assets}\n`]);
  assert.match(without.stderr, /^binnacle: there is no kubectl on PATH/);
  writeFileSync(join(tools, "kubectl"), "#!/bin/sh\necho mine\n", { mode: 0o755 });
  const linked = await runProgram(["envtest", assets], folder, { PATH: tools });
  assert.deepEqual([linked.code, linked.stdout, linked.stderr], [0, `${assets}\n`, ""]);
  assert.equal(spawnSync(join(assets, "kubectl"), { encoding: "utf8" }).stdout, "mine\n");
});

test("the etcd of suites takes etcd's flags about storage and logs, and answers health checks", async (t) => {
  const flags = ["--data-dir=x", "--unsafe-no-fsync", "--quota-backend-bytes", "1000", "--log-level=warn"];
  const url = `http://127.0.0.1:${await freePort()}`;
  const { child, ended } = startProgram(["etcd", `--listen-client-urls=${url}`, ...flags], temporaryFolder());
  t.after(() => child.kill());
  const failed = ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
  const answer = await Promise.race([eventually(async () => fetch(`${url}/health`)), failed]);
  assert.deepEqual(await answer.json(), { health: "true" });
  child.kill();
  await assert.rejects(failed, { message: "" });
});

test("the etcd of suites refuses a flag that would change how clients connect", async () => {
  const { code, stderr } = await runProgram(["etcd", "--client-cert-auth"], temporaryFolder());
  assert.equal(code, 1);
  assert.match(stderr, /^binnacle: unknown flag --client-cert-auth/);
});

test("binnacle envtest says what it needs", async () => {
  const { code, stderr } = await runProgram(["envtest"], temporaryFolder());
  assert.equal(code, 1);
  assert.match(stderr, /^binnacle: envtest takes one folder: binnacle envtest FOLDER\n$/);
});
