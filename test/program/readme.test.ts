/** Tests that the commands of the README work as they are written. */
import assert from "node:assert";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { serveProgram } from "./program.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!);

function curlProblem(): string | undefined {
  try {
    const [, major, minor] = /^curl (\d+)\.(\d+)/.exec(execFileSync("curl", ["--version"], { encoding: "utf8" })) ?? [];
    return Number(major) * 1000 + Number(minor) >= 7082 ? undefined : "curl is older than 7.82 and has no --json";
  } catch {
    return "there is no curl";
  }
}

void test("the first two commands are those that start and that test", () => {
  assert.deepStrictEqual(blocks.slice(0, 2), ["npm ci && npm start\n", "npm ci && npm test\n"]);
});

void test("the five lines watch, create, list and delete in the default domain", {
  skip: curlProblem() ?? false,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-readme-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const server = await serveProgram(folder);
  const lines = blocks[2]!.replaceAll(":6443", `:${server.port}`);
  assert.strictEqual(lines.trim().split("\n").length, 5);
  const { stdout } = await promisify(execFile)("sh", ["-c", `set -e\n${lines}`], { cwd: folder });
  server.child.kill("SIGTERM");
  await server.ended;
  const text = stdout.replaceAll(/"(?:uid|resourceVersion|creationTimestamp|time)":\s*"[^"]*"/g, "");
  assert.match(text, /"greeting":\s*"ahoy"/);
  assert.match(text, /"kind":\s*"ConfigMapList"/);
  for (const type of ["ADDED", "DELETED"]) {
    assert.match(text, new RegExp(`\\{"type":"${type}",.*"name":"hello"`), text);
  }
  assert.match(text, /"status":\s*"Success"/);
  assert.ok(!text.includes('"Failure"'), text);
});
