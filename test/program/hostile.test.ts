/**
 * The requests of `bench/hostile-requests.ts`, one at a time and eight at once, while another client reads. The bounds
 * leave room for a busy machine; docs/performance.md has the figures of a quiet one.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { besideGets, hostileUsers, prepareHostile, type Seen } from "../../bench/hostile.bench.ts";
import { hostileCases, type HostileSetting } from "../../bench/hostile-requests.ts";
import type { Target } from "../../bench/target.ts";
import { type Serving, serveProgram } from "./program.ts";

const bounds = { p99Ms: 300, longestMs: 1500, rssMb: 1000 };
/** A server that holds others up does so each time; a busy machine does not. */
const triesMax = 3;

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
  server = await serveProgram(folder, "--data-dir=data", "--token-auth-file=tokens.csv");
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

const isWithin = ({ p99Ms, longestMs, rssMb }: Seen): boolean =>
  p99Ms <= bounds.p99Ms && longestMs <= bounds.longestMs && rssMb <= bounds.rssMb;

const started = start();

for (const [name, hostile] of Object.entries(hostileCases)) {
  void test(`another client reads while somebody sends ${hostile.about}, once and eight times at once`, async () => {
    const { target, setting } = await started;
    for (const crowd of [1, 8]) {
      let seen: Seen | undefined;
      for (let tries = 0; tries < triesMax && (seen === undefined || !isWithin(seen)); tries++) {
        await hostile.prepare?.(setting);
        seen = await besideGets(target, setting, name, crowd);
      }
      assert.ok(
        seen !== undefined && isWithin(seen),
        `${name}, ${crowd} at once: ${JSON.stringify({ ...seen, codes: undefined })}`,
      );
    }
  });
}

void test("the server that had all of these requests ends as it is told to", async () => {
  const { setting } = await started;
  setting.client.close();
  server!.child.kill("SIGTERM");
  assert.equal((await server!.ended).code, 0);
});
