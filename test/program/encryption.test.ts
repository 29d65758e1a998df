/**
 * Data on disk of a server with `--encryption-provider-config`, also after a kill: no file of the data folder and no
 * backup contains a plain value.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runProgram, type Serving, serveProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-hidden-"));
const servers: Serving[] = [];
after(async () => {
  for (const { child, ended } of servers) {
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

const key = (fill: number): string => Buffer.alloc(32, fill).toString("base64");
const keys = (fill: number): object => ({ keys: [{ name: "key1", secret: key(fill) }] });

const config = (kms: readonly object[]): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      { resources: ["secrets"], providers: [{ aescbc: keys(1) }, { identity: {} }] },
      { resources: ["configmaps"], providers: [{ aesgcm: keys(2) }] },
      { resources: ["leases.coordination.k8s.io"], providers: [{ secretbox: keys(3) }] },
      ...kms,
    ],
  });

/** The text in each object: in clear, in base64 as a Secret's data, and in other kinds inside a longer text. */
const marker = (name: string): string => `marker-of-${name}-in-clear`;
const formsOf = (name: string): string[] => {
  const text = marker(name);
  const inner = [0, 1, 2].map((skip) => Buffer.from(text.slice(skip, skip + 15)).toString("base64"));
  return [text, ...inner];
};

/** Returns the names of the files below `path` that contain one of the texts. */
function filesWith(path: string, texts: readonly string[]): string[] {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => filesWith(join(path, name), texts));
  const bytes = readFileSync(path);
  return texts.some((text) => bytes.includes(text)) ? [path] : [];
}

function ask(url: string, method: string, path: string, object?: unknown): Promise<number> {
  const pki = (name: string): Buffer => readFileSync(join(folder, "data/pki", name));
  return new Promise((resolve, reject) => {
    const options = { method, ca: pki("ca.crt"), cert: pki("admin.crt"), key: pki("admin.key"), agent: false };
    const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    const request = https.request(url + path, { ...options, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode!));
    });
    request.on("error", reject);
    request.end(object === undefined ? undefined : JSON.stringify(object));
  });
}

const namespaced = "/api/v1/namespaces/default";
const encrypted = {
  secrets: [`${namespaced}/secrets`, { data: { password: Buffer.from(marker("secrets")).toString("base64") } }],
  configmaps: [`${namespaced}/configmaps`, { data: { a: marker("configmaps") } }],
  leases: ["/apis/coordination.k8s.io/v1/namespaces/default/leases", { spec: { holderIdentity: marker("leases") } }],
} as const;

test("nothing of an encrypted object is in clear in any file, with history, after a kill, and in backups", async () => {
  const file = join(folder, "encryption.json");
  writeFileSync(file, config([]));
  const start = async (): Promise<Serving> => {
    const flags = ["--data-dir=data", "--api-domain=k8s.io", `--encryption-provider-config=${file}`];
    const server = await serveProgram(folder, ...flags);
    servers.push(server);
    return server;
  };
  const { url, child, ended } = await start();
  for (const [collection, object] of Object.values(encrypted)) {
    for (const name of ["kept", "gone"]) {
      assert.equal(await ask(url, "POST", collection, { metadata: { name }, ...object }), 201);
      const patch = { metadata: { annotations: { changed: "yes" } } };
      assert.equal(await ask(url, "PATCH", `${collection}/${name}`, patch), 200);
    }
    assert.equal(await ask(url, "DELETE", `${collection}/gone`), 200);
  }
  const account = { metadata: { name: "shown", annotations: { a: marker("serviceaccounts") } } };
  assert.equal(await ask(url, "POST", `${namespaced}/serviceaccounts`, account), 201);
  const backup = join(folder, "backup.db");
  assert.equal((await runProgram(["backup", backup, "--data-dir=data"], folder)).code, 0);
  child.kill("SIGKILL");
  await ended;
  const files = [join(folder, "data"), backup];
  for (const name of Object.keys(encrypted)) {
    assert.deepEqual(
      files.flatMap((path) => filesWith(path, formsOf(name))),
      [],
      name,
    );
  }
  // The search finds values that are not encrypted, and the prefixes of the providers, so it works.
  const counts = files.map((path) => filesWith(path, formsOf("serviceaccounts")).length);
  assert.ok(
    counts.every((count) => count > 0),
    String(counts),
  );
  for (const provider of ["aescbc", "aesgcm", "secretbox"]) {
    assert.notEqual(filesWith(backup, [`k8s:enc:${provider}:v1:key1:`]).length, 0, provider);
  }

  const restored = await runProgram(["restore", backup, "--data-dir=again"], folder);
  assert.equal(restored.code, 0, restored.stderr);
  for (const name of Object.keys(encrypted)) assert.deepEqual(filesWith(join(folder, "again"), formsOf(name)), []);
  const again = await start();
  for (const [collection] of Object.values(encrypted))
    assert.equal(await ask(again.url, "GET", `${collection}/kept`), 200);
  again.child.kill("SIGTERM");
  await again.ended;
});
