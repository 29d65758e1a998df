/** Servers through the package's API: several in one process, in memory or on disk. */
import assert from "node:assert";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Connection, openConnection } from "#client/connection.ts";
import type { Credential } from "#client/connection-settings.ts";
import { RestClient } from "#client/rest-client.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { systemClock } from "#std/clock.ts";
import { silentLog } from "#std/log.ts";
import { systemRandom } from "#std/random.ts";
import type { ServerSettings } from "./options.ts";
import { type RunningServer, SharedParts, startServer } from "./start-server.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-start-"));
const connections: Connection[] = [];
const running: RunningServer[] = [];
// A file that a server writes by mistake is found here, where nobody else writes.
process.chdir(mkdtempSync(join(root, "working-")));
after(async () => {
  for (const connection of connections) await connection.close();
  for (const server of running) await server.close();
  process.chdir(tmpdir());
  rmSync(root, { recursive: true, force: true });
});

async function start(settings: ServerSettings, shared?: SharedParts): Promise<RunningServer> {
  const environment = { log: silentLog, ...(shared === undefined ? {} : { shared }) };
  const server = await startServer({ securePort: 0, ...settings }, environment);
  running.push(server);
  return server;
}

function clientOf(server: RunningServer, by: "certificate" | "token" = "certificate"): RestClient {
  const { certificate: cert, key, token } = server.admin;
  return new RestClient(connectionTo(server, by === "token" ? { token } : { certificate: { cert, key } }));
}

function connectionTo({ url, ca }: RunningServer, credential: Credential): Connection {
  const settings = {
    server: new URL(url),
    tls: { ca: () => ca, insecure: false },
    credentials: { current: () => credential, rejected: () => false },
    compress: true,
    namespace: "default",
  };
  const options = { clock: systemClock, random: systemRandom, userAgent: "test", environment: {} };
  const connection = openConnection(settings, options);
  connections.push(connection);
  return connection;
}

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string): Unstructured => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

void test("servers that share parts know nothing of each other, and one serves on when another closes", async () => {
  const shared = new SharedParts();
  const folders = ["shared-a", "shared-b"].map((name) => join(root, name));
  const servers: RunningServer[] = [];
  for (const [at, dataDir] of folders.entries()) {
    const runtimeConfig = at === 0 ? [] : ["batch/v1=false"];
    servers.push(await start({ dataDir, runtimeConfig }, shared));
  }
  const [a, b] = servers.map((server) => clientOf(server)) as [RestClient, RestClient];
  await Promise.all([a.create(maps, map("of-a")), b.create(maps, map("of-b"))]);
  await assert.rejects(b.get(`${maps}/of-a`), /not found/);
  await assert.rejects(a.get(`${maps}/of-b`), /not found/);
  await a.list("/apis/batch/v1/jobs");
  await assert.rejects(b.list("/apis/batch/v1/jobs"), /could not find the requested resource/);
  const stranger = new RestClient(connectionTo(servers[1]!, { token: servers[0]!.admin.token }));
  await assert.rejects(stranger.get(`${maps}/of-b`), /Unauthorized/);
  await servers[0]!.close();
  await b.create(maps, map("later"));
  const again = clientOf(await start({ dataDir: folders[0]! }, shared));
  await again.get(`${maps}/of-a`);
  for (const server of running.splice(0)) await server.close();
  await shared.close();
});

void test("servers of both domains live side by side in one process and know nothing of each other", async () => {
  const servers = await Promise.all([start({ storage: "memory" }), start({ storage: "memory", apiDomain: "k8s.io" })]);
  const [ours, theirs] = servers.map((server) => clientOf(server));
  await ours!.create(maps, map("a"));
  await assert.rejects(theirs!.get(`${maps}/a`), /configmaps "a" not found/);
  const groups = async (client: RestClient): Promise<string> =>
    JSON.stringify(await client.call({ method: "GET", path: "/apis" }));
  assert.match(await groups(ours!), /apps.*storage\.platform\.io/);
  assert.match(await groups(theirs!), /apps.*storage\.k8s\.io/);
  for (const server of servers) assert.strictEqual(server.kubeconfigFile, undefined);
  assert.deepStrictEqual(readdirSync("."), []);
  await Promise.all(servers.map((server) => server.close()));
});

void test("the administrator may come with the certificate or the token, and the kubeconfig holds the first", async () => {
  const server = await start({ storage: "memory" });
  assert.strictEqual(server.url, `https://127.0.0.1:${server.port}`);
  for (const by of ["certificate", "token"] as const) await clientOf(server, by).list(maps);
  const encoded = Buffer.from(server.admin.certificate).toString("base64");
  assert.ok(server.kubeconfig.includes(`client-certificate-data: ${encoded}\n`));
  assert.ok(server.kubeconfig.includes(`server: ${server.url}\n`));
  await server.close();
});

void test("what was stored on disk is there when the next server starts, and closing twice is closing once", async () => {
  const dataDir = join(root, "disk");
  const first = await start({ dataDir });
  await clientOf(first).create(maps, map("a"));
  await Promise.all([first.close(), first.close()]);
  const second = await start({ dataDir });
  assert.strictEqual((await clientOf(second).get(`${maps}/a`)).metadata.name, "a");
  assert.strictEqual(second.ca, first.ca);
  assert.ok(readFileSync(second.kubeconfigFile!, "utf8").includes(second.url));
  await second.close();
});

void test("wrong settings are refused before anything is written", async () => {
  const dataDir = join(root, "wrong");
  const wrong: readonly object[] = [
    { storage: "memry" },
    { securePort: -1 },
    { enableAdmissionPlugins: ["Typo"] },
    { controllers: ["typo"] },
    { featureGates: ["Typo=true"] },
    { runtimeConfig: ["typo/v1=true"] },
  ];
  for (const settings of wrong) {
    await assert.rejects(start({ dataDir, ...settings }), { name: "StartError" }, JSON.stringify(settings));
    assert.strictEqual(existsSync(dataDir), false, JSON.stringify(settings));
  }
});

void test("a folder in use and a port in use are refused, and leave nothing behind", async () => {
  const dataDir = join(root, "used");
  const server = await start({ dataDir });
  await assert.rejects(start({ dataDir }), { name: "StartError", message: /is in use by another process$/ });
  const other = join(root, "other");
  await assert.rejects(start({ dataDir: other, securePort: server.port }), {
    name: "StartError",
    message: /is in use by another program/,
  });
  assert.ok(!existsSync(other));
  await clientOf(server).list(maps);
  await server.close();
});

void test("metrics are served under kube-apiserver's names, each scrape counts the one before", async () => {
  const server = await start({ storage: "memory" });
  const transport = connectionTo(server, { token: server.admin.token });
  await transport.request({ method: "GET", path: maps });
  const { body } = await transport.request({ method: "GET", path: "/metrics" });
  const text = body.toString();
  assert.match(text, /^apiserver_request_total\{verb="LIST",.*resource="configmaps",.*code="200"\} 1$/m);
  for (const name of [
    "apiserver_request_duration_seconds_bucket",
    "apiserver_response_sizes_count",
    "apiserver_current_inflight_requests",
    "apiserver_storage_objects",
    "binnacle_storage_commit_duration_seconds_count",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "nodejs_heap_size_used_bytes",
  ]) {
    assert.match(text, new RegExp(`^${name}[ {]`, "m"), name);
  }
  await server.close();
});
