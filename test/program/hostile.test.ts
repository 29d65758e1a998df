/**
 * The requests of `bench/hostile-requests.ts`, one at a time and eight at once, while another client reads: each gets a
 * clear answer, the other client's reads succeed, and memory is bounded. `npm run bench -- hostile` measures the time
 * of the reads; docs/performance.md has the figures.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { besideGets, hostileFlags, hostileUsers, prepareHostile } from "../../bench/hostile.bench.ts";
import { hostileCases, type HostileSetting } from "../../bench/hostile-requests.ts";
import type { Target } from "../../bench/target.ts";
import { type Serving, serveProgram } from "./program.ts";

const rssMaxMb = 1000;

const folder = mkdtempSync(join(tmpdir(), "binnacle-hostile-"));
let server: Serving | undefined;
after(async () => {
  server?.child.kill("SIGKILL");
  await server?.ended;
  rmSync(folder, { recursive: true, force: true });
});

const token = "admin-token";

async function start(): Promise<{ target: Target; setting: HostileSetting }> {
  writeFileSync(join(folder, "tokens.csv"), `${token},admin,admin,system:masters\n${hostileUsers.join("\n")}\n`);
  // All requests that take their maximum time end within this time, also on a slow machine.
  const flags = ["--data-dir=data", "--token-auth-file=tokens.csv", "--request-timeout=1h", ...hostileFlags];
  server = await serveProgram(folder, ...flags);
  const target: Target = {
    name: "ours",
    host: "127.0.0.1",
    port: server.port,
    ca: readFileSync(join(folder, "data/pki/ca.crt"), "utf8"),
    token,
    pid: server.child.pid,
    domain: "platform.io",
  };
  const size = { objects: 2000, definitions: 60, watches: 100, holdMs: 1000 };
  return { target, setting: await prepareHostile(target, size) };
}

const started = start();

for (const [name, hostile] of Object.entries(hostileCases)) {
  void test(`another client reads while somebody sends ${hostile.about}, once and eight times at once`, async () => {
    const { target, setting } = await started;
    for (const crowd of [1, 8]) {
      await hostile.prepare?.(setting);
      const { rssMb } = await besideGets(target, setting, name, crowd);
      assert.ok(rssMb <= rssMaxMb, `${name}, ${crowd} at once: ${rssMb} MB`);
    }
  });
}

void test("the server that had all of these requests ends as it is told to", async () => {
  const { setting } = await started;
  setting.client.close();
  server!.child.kill("SIGTERM");
  assert.equal((await server!.ended).code, 0);
});
