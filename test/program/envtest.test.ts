/**
 * A controller-runtime suite, built from its Go module (`test/envtest`), on the programs of `binnacle envtest`. Needs
 * Go and cached modules: `cd test/envtest && go mod download`.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../harness.ts";
import { runProgram } from "./program.ts";

const suite = fileURLToPath(new URL("../envtest/", import.meta.url));

/** Runs Go without a network; returns its output when it fails. */
function go(args: readonly string[], more: NodeJS.ProcessEnv = {}): string | undefined {
  const env = { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local", ...more };
  const { status, error, stdout, stderr } = spawnSync("go", args, { cwd: suite, env, encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? `${stdout}${stderr}`);
}

function missing(): string | undefined {
  if (go(["version"]) !== undefined) return "Go is not here";
  return go(["list", "-deps", "-test", "."]) === undefined ? undefined : "the Go modules of test/envtest are not here";
}

const skip = missing();

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

test("binnacle envtest says what it needs", async () => {
  const { code, stderr } = await runProgram(["envtest"], temporaryFolder());
  assert.equal(code, 1);
  assert.match(stderr, /^binnacle: usage: binnacle envtest FOLDER, then KUBEBUILDER_ASSETS=FOLDER go test/);
});
