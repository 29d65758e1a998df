/** The tool as its users run it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "fleet-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function fleet(...args: readonly string[]) {
  const program = new URL("fleet.ts", import.meta.url).pathname;
  const env = { ...process.env, FLEET_FOLDER: join(folder, "data") };
  return spawnSync(process.execPath, [program, ...args], { encoding: "utf8", env });
}

test("boats stay from one call to the next", () => {
  assert.equal(fleet("add", "ketch", "A7").stdout, "ketch lies at A7\n");
  assert.equal(fleet("add", "sloop", "B2").stdout, "sloop lies at B2\n");
  assert.equal(fleet("add", "ketch", "A8").stdout, "ketch lies at A8\n");
  assert.equal(fleet("list").stdout, "ketch\tA8\nsloop\tB2\n");
});

test("the schema refuses what is no berth", () => {
  const { status, stderr } = fleet("add", "raft", "nowhere");
  assert.equal(status, 1);
  assert.match(stderr, /spec\.berth.*should match/);
});
