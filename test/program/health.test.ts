/** `binnacle health`, as a container or a service manager asks it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { temporaryFolder } from "../harness.ts";
import { runProgram, serveProgram } from "./program.ts";

test("health says whether a server is ready, and waits for one that starts", async () => {
  const folder = temporaryFolder();
  const none = await runProgram(["health", "--data-dir=data"], folder);
  assert.equal(none.code, 1);
  assert.match(none.stdout, /^not ready: no admin\.kubeconfig in data/);
  const waiting = runProgram(["health", "--data-dir=data", "--wait=2m"], folder);
  const serving = await serveProgram(folder, "--data-dir=data", "--storage=disk");
  const waited = await waiting;
  assert.deepEqual([waited.code, waited.stdout], [0, "ready\n"]);
  const { code, stdout } = await runProgram(["health", "--data-dir=data", "-o", "json"], folder);
  assert.equal(code, 0);
  const { ready, checks } = JSON.parse(stdout) as { ready: boolean; checks: readonly { name: string; ok: boolean }[] };
  assert.equal(ready, true);
  assert.ok(checks.some(({ name, ok }) => name === "ping" && ok));
  serving.child.kill();
  await serving.ended;
  const gone = await runProgram(["health", "--data-dir=data"], folder);
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /^not ready: /);
});

test("the checks that fail are named, however many others there are", async (t) => {
  const folder = temporaryFolder();
  const authority = await fakeAuthority("server authority");
  const own = await authority.issue({ commonName: "localhost", usage: "server" });
  const passed = Array.from({ length: 60 }, (_, at) => `[+]check-${at} ok\n`).join("");
  const server = createServer({ key: own.key, cert: own.certificate }, (_, answer) => {
    answer.writeHead(500, { "content-type": "text/plain" });
    answer.end(`${passed}[-]etcd failed: reason withheld\nreadyz check failed\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo; // it listens on a port
  const named = (key: string, value: object): object => ({ name: "it", [key]: value });
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority-data": Buffer.from(authority.certificate).toString("base64"),
  };
  const kubeconfig = {
    "current-context": "it",
    clusters: [named("cluster", cluster)],
    users: [named("user", { token: "a-token" })],
    contexts: [named("context", { cluster: "it", user: "it" })],
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  const { code, stdout, stderr } = await runProgram(["health", "--kubeconfig=kubeconfig"], folder);
  assert.deepEqual([code, stdout, stderr], [1, "not ready\nfailed: etcd\n", ""]);
});
