/** The code of the client library's README, run as one program against a server of each domain. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Deployment, PersistentVolumeClaim } from "#client/kinds.ts";
import { suite, temporaryFolder } from "../harness.ts";
import { Boat, defineBoats } from "./boats.ts";
import { clusterOf, makeNamespace } from "./open-cluster.ts";

const inBothDomains = suite();
const client = new URL("../../src/client/", import.meta.url);
const readme = readFileSync(new URL("../../packages/client/README.md", import.meta.url), "utf8");

/** Returns the code blocks of a file of the README, with the library's source in place of the package. */
function codeOf(file: string): string {
  const blocks = [...readme.matchAll(/```ts(.*)\n([^]*?)```/g)].filter(([, name]) => name!.trim() === file);
  assert.ok(blocks.length > 0);
  return blocks
    .map(([, , text]) => text)
    .join("\n")
    .replaceAll('"binnacle-client"', JSON.stringify(new URL("exports.ts", client)))
    .replaceAll(/"binnacle-client\/(.*?)"/g, (_match, name: string) => JSON.stringify(new URL(`${name}.ts`, client)));
}

inBothDomains("the code of the README runs as it is written", async (api, t) => {
  const cluster = await clusterOf(api, t);
  await defineBoats(cluster);
  const namespace = await makeNamespace(cluster, "shop");
  const labels = { app: "web" };
  await cluster.kind(Deployment).create({
    metadata: { name: "web", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
  });
  const boats = cluster.kind(Boat).in(namespace);
  await boats.create({ metadata: { name: "ketch", labels: { pier: "north" } }, spec: { length: 8 } });
  const claims = cluster.kind(PersistentVolumeClaim).in(namespace);
  await claims.create({
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  await claims.status.patch("data", { merge: { status: { phase: "Bound" } } });

  const folder = temporaryFolder();
  writeFileSync(join(folder, "boats.ts"), codeOf("boats.ts"));
  writeFileSync(join(folder, "main.ts"), codeOf("").replaceAll('"shop"', JSON.stringify(namespace)));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "config"), api.server.kubeconfig);
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=source", join(folder, "main.ts")], {
    cwd: fileURLToPath(client),
    env: { ...process.env, KUBECONFIG: join(folder, "config") },
  });
  assert.deepEqual(
    stdout.trim().split("\n"),
    [
      "8 1",
      "ketch",
      "Go-http-client owns .spec.length",
      "added ketch",
      `NotFound GET configmaps "chart" in "${namespace}": configmaps "chart" not found`,
    ].map((line) => line.replace("Go-http-client", "harbour")),
  );
  assert.deepEqual(await boats.find("ketch").then((ketch) => [ketch?.spec, ketch?.status]), [
    { length: 10, rig: "gaff" },
    { afloat: true },
  ]);
});
