/**
 * The program as one file (`npm run build -- --executable`): everything that loads a file, a package or a thread, a
 * crash, and other names and arguments by which it is started. It is built from what `dist/` has.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { symlinkSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { before, type TestContext, test } from "node:test";
import { buildExecutables, executableOf, ownPlatform } from "../../scripts/build-executable.ts";
import { temporaryFolder } from "../harness.ts";

const platform = ownPlatform();
const skip = platform === undefined ? "there is no executable for this machine" : false;
const executable = platform === undefined ? "" : executableOf(platform);

before(async () => {
  if (platform !== undefined) await buildExecutables([platform]);
});

/** The environment of somebody who has no Node.js. */
const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", KUBECONFIG: "data/admin.kubeconfig" };

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
}

async function serve(t: TestContext, folder: string, ...flags: readonly string[]): Promise<Started> {
  const args = ["serve", "-o", "json", "--secure-port=0", "--data-dir=data", ...flags];
  const child = spawn(executable, args, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { child, url: (JSON.parse(line) as { url: string }).url };
}

function run(folder: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(executable, args, { cwd: folder, env, encoding: "utf8" });
  assert.equal(status, 0, `${args.join(" ")}: ${stderr}${stdout}`);
  return stdout;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Returns the first page of the console. */
async function consolePage(url: string): Promise<string> {
  const request = get(`${url}/console/`, { rejectUnauthorized: false });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return Buffer.concat(await answer.toArray()).toString();
}

const definition = `apiVersion: apiextensions.platform.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.harbor.example.com
spec:
  group: harbor.example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                berth: {type: string, pattern: "^[a-z]+$"}
              x-kubernetes-validations:
                - rule: "self.berth.matches('^[a-f]+$')"
`;

test("a server of one file keeps what it acknowledged through kill -9, and refuses a second one", {
  skip,
}, async (t) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "definition.yaml"), definition);
  const boat = (berth: string): object => ({
    apiVersion: "harbor.example.com/v1",
    kind: "Boat",
    metadata: { name: berth },
    spec: { berth },
  });
  writeFileSync(join(folder, "good.json"), JSON.stringify(boat("abc")));
  writeFileSync(join(folder, "bad.json"), JSON.stringify(boat("xyz")));
  // A body of this size is decoded in a thread.
  const data = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, "v".repeat(900)]));
  const large = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" }, data };
  writeFileSync(join(folder, "large.json"), JSON.stringify(large));

  const first = await serve(t, folder);
  run(folder, "apply", "-f", "definition.yaml");
  run(folder, "wait", "crds/boats.harbor.example.com", "--for=condition=Established", "--timeout=60s");
  run(folder, "apply", "-f", "good.json");
  run(folder, "apply", "-f", "large.json");
  const refused = spawnSync(executable, ["apply", "-f", "bad.json"], { cwd: folder, env, encoding: "utf8" });
  assert.equal(refused.status, 1);
  const second = spawnSync(executable, ["serve", "--secure-port=0", "--data-dir=data"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  assert.equal(second.status, 1, second.stdout);
  assert.match(second.stderr, /data/);

  await end(first.child, "SIGKILL");
  const next = await serve(t, folder);
  assert.equal(run(folder, "get", "boats", "-o", "jsonpath={.items[*].spec.berth}").trim(), "abc");
  assert.equal(run(folder, "get", "configmaps", "large", "-o", "jsonpath={.data.k899}").trim(), "v".repeat(900));
  assert.equal(run(folder, "health"), "ready\n");
  assert.match(await consolePage(next.url), /<script type="module"/);
  await end(next.child, "SIGTERM");
  assert.match(run(folder, "verify", "--data-dir=data"), /\S/);
});

test("several processes of one file serve behind one port", { skip }, async (t) => {
  const folder = temporaryFolder();
  const { child } = await serve(t, folder, "--processes=2");
  for (let at = 0; at < 6; at++) assert.match(run(folder, "get", "namespaces"), /default/);
  await end(child, "SIGTERM");
});

test("it is a plugin of kubectl under that name, and the programs of envtest", { skip }, () => {
  const folder = temporaryFolder();
  const plugin = join(folder, "kubectl-binnacle");
  symlinkSync(executable, plugin);
  const { stdout } = spawnSync(plugin, ["version"], { env, encoding: "utf8" });
  assert.match(stdout, /^binnacle \d/);
  const assets = run(folder, "envtest", "assets").trim();
  const help = spawnSync(join(assets, "etcd"), ["--help"], { env, encoding: "utf8" });
  assert.equal(help.status, 0, help.stderr);
  assert.match(help.stdout, /listen-client-urls/);
});
