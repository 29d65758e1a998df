/**
 * Takes an etcd over from kube-apiserver 1.32.1, with encrypted Secrets and custom resources, and gives it back. Needs Go,
 * and the reference that `../shared/reference/run.sh --build` builds.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "../client.ts";
import { Api, endpointOf, eventually, openServer } from "../harness.ts";
import { freePort, stop } from "../go-program.ts";
import { objectsOfKinds } from "../objects-of-kinds.ts";
import { assertEqual, readAll } from "./all-objects.ts";
import { EtcdCluster, missing } from "./etcd-for-tests.ts";

const reference = join(process.env["REFERENCE_HOME"] ?? join(tmpdir(), "reference"), "bin", "reference");
const reason = existsSync(reference) ? missing() : "the reference is not built";

/** Starts the reference on an etcd. It ends with the test at the latest. */
async function startReference(t: TestContext, folder: string, endpoint: string, flags: readonly string[]) {
  const port = await freePort();
  const child: ChildProcess = spawn(
    reference,
    ["--port", String(port), "--data-dir", join(folder, "reference"), "--etcd-servers", endpoint, ...flags],
    { stdio: "ignore" },
  );
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
  const api = new Client(endpointOf(`https://127.0.0.1:${port}`, agent, (text) => text));
  const end = async (): Promise<void> => {
    api.close();
    agent.destroy();
    await stop(child);
  };
  t.after(end);
  await eventually(async () => (await api.get("/readyz")).expect(200));
  await eventually(async () => (await api.get("/api/v1/namespaces/default")).expect(200));
  return { api, stop: end };
}

test("kube-apiserver's etcd is served as it is, and given back, with encrypted Secrets", {
  skip: reason ?? false,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-takeover-"));
  const cluster = await EtcdCluster.start();
  t.after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const [endpoint] = cluster.endpoints as [string];
  const tokens = join(folder, "tokens.csv");
  writeFileSync(tokens, 'admin-token,admin,admin-uid,"system:masters"\n');
  const encryption = join(folder, "encryption.yaml");
  const secret = Buffer.alloc(32, 7).toString("base64");
  const provider = { aesgcm: { keys: [{ name: "k", secret }] } };
  const resources = [{ resources: ["secrets"], providers: [provider, { identity: {} }] }];
  const configuration = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources };
  writeFileSync(encryption, JSON.stringify(configuration));
  const flags = ["--token-auth-file", tokens, "--encryption-provider-config", encryption];

  const first = await startReference(t, folder, endpoint, flags);
  await eventually(async () =>
    (await first.api.post("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } })).expect([
      201, 409,
    ]),
  );
  for (const [path, fields] of objectsOfKinds) {
    if (path.endsWith("/pods")) continue; // the limit range of these objects refuses it
    (await first.api.post(path, { metadata: { name: "a" }, ...fields })).expect(201);
  }
  const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const spec = {
    group: "example.com",
    scope: "Cluster",
    names,
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  (await first.api.post(definitions, { metadata: { name: "things.example.com" }, spec })).expect(201);
  const thing = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" }, spec: { size: 1 } };
  await eventually(async () => (await first.api.post("/apis/example.com/v1/things", thing)).expect(201));
  const filled = await readAll(first.api);
  await first.stop();

  const server = await openServer("k8s.io", {
    etcdServers: [endpoint],
    encryptionProviderConfig: encryption,
    runtimeConfig: [],
    featureGates: [],
  });
  const api = new Api(server);
  assertEqual(filled, await readAll(api));
  const secrets = "/api/v1/namespaces/default/secrets";
  (await api.post(secrets, { metadata: { name: "ours" }, data: { a: "c2VjcmV0" } })).expect(201);
  (await api.patch("/apis/apps/v1/namespaces/default/deployments/a", { spec: { replicas: 3 } })).expect(200);
  (await api.patch("/apis/example.com/v1/things/t", { spec: { size: 2 } })).expect(200);
  (await api.delete("/api/v1/namespaces/default/configmaps/a")).expect(200);
  const changed = await readAll(api);
  api.close();
  await server.close();

  const second = await startReference(t, folder, endpoint, flags);
  const given = await readAll(second.api);
  (await second.api.get(`${secrets}/ours`)).expect(200, { "data.a": "c2VjcmV0" });
  (await second.api.get("/api/v1/namespaces/default/configmaps/a")).expect(404);
  await second.stop();
  assertEqual(changed, given);
});
