/** The controllers of docs/client.md, run as they are written, against a server of each domain. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type Cluster, type KindClient } from "#client/cluster.ts";
import { controller, run } from "#client/controllers.ts";
import type { Kind, StoredObject } from "#client/kind.ts";
import { ConfigMap, type CustomResourceDefinition, Deployment, Lease, Pod } from "#client/kinds.ts";
import { Event } from "#client/kinds/events/v1.ts";
import { parseYaml } from "#client/parse-yaml.ts";
import { printTypes } from "#client/type-printer.ts";
import { type Api, eventually, suite, temporaryFolder } from "../harness.ts";
import { define } from "./boats.ts";
import { clusterOf, makeNamespace, recorded, transportOf } from "./open-cluster.ts";

const inBothDomains = suite();
const client = new URL("../../src/client/", import.meta.url);
const page = readFileSync(new URL("../../docs/client.md", import.meta.url), "utf8");

interface Boat extends StoredObject {
  readonly spec: { readonly crew?: number; readonly berth?: string };
  readonly status?: {
    readonly length?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

const Boat: Kind<Boat> = {
  group: "harbour.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

/** Returns a block of the page, with the library's source in place of the package. */
function block(name: string): string {
  const text = new RegExp(`\`\`\`\\w+ ${name}\\n([^]*?)\`\`\``).exec(page)?.[1];
  assert.ok(text !== undefined, `docs/client.md has ${name}`);
  return sourceImports(text);
}

const sourceImports = (text: string): string =>
  text
    .replaceAll('"binnacle/client"', JSON.stringify(new URL("exports.ts", client)))
    .replaceAll(/"binnacle\/client\/(.*?)"/g, (_match, name: string) => JSON.stringify(new URL(`${name}.ts`, client)));

interface Shop {
  readonly cluster: Cluster;
  readonly boats: KindClient<Boat>;
  readonly namespace: string;
  readonly folder: string;
}

/** Defines boats as the page does, and makes a namespace and a folder for a program. */
async function openShop(api: Api, t: TestContext): Promise<Shop> {
  const cluster = await clusterOf(api, t);
  const definition = await parseYaml(block("boats.yaml"));
  await define(cluster, definition as CustomResourceDefinition); // the page has one
  const namespace = await makeNamespace(cluster, "shop");
  const folder = temporaryFolder();
  writeFileSync(join(folder, "boats.ts"), sourceImports(printTypes([definition])));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "config"), api.server.kubeconfig);
  return { cluster, boats: cluster.kind(Boat).in(namespace), namespace, folder };
}

interface Program {
  readonly child: ChildProcess;
  /** Returns its output so far. */
  output(): string;
  /** Sends SIGTERM, and resolves with the exit code. */
  end(): Promise<number | null>;
}

/** Runs a program of the page until it is ended. */
function start({ folder, namespace }: Shop, name: string, t: TestContext): Program {
  writeFileSync(join(folder, name), block(name).replaceAll('"shop/', `"${namespace}/`));
  const child = spawn(process.execPath, ["--conditions=source", join(folder, name)], {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: join(folder, "config"), NODE_PATH: fileURLToPath(client) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => {
    child.kill("SIGKILL");
    if (output !== "") t.diagnostic(output);
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (output += piece.toString()));
  const ended = once(child, "exit");
  return {
    child,
    output: () => output,
    async end() {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

const conditionOf = (boat: Boat | undefined, type: string) =>
  boat?.status?.conditions?.find((condition) => condition.type === type);

inBothDomains("a controller makes a deployment for each boat, and says when it is ready", async (api, t) => {
  const shop = await openShop(api, t);
  const { boats, cluster, namespace } = shop;
  const program = start(shop, "deployments.ts", t);
  await boats.create({ metadata: { name: "ketch" }, spec: { crew: 2 } });
  const deployments = cluster.kind(Deployment).in(namespace);
  const deployment = await deployments.until("ketch", (one) => one !== undefined, { timeout: "60s" });
  assert.equal(deployment?.spec.replicas, 2);
  assert.deepEqual(
    deployment.metadata.ownerReferences?.map(({ kind, name, controller: isController }) => [kind, name, isController]),
    [["Boat", "ketch", true]],
  );
  await boats.until("ketch", (boat) => conditionOf(boat, "Ready")?.reason === "Boarding", { timeout: "60s" });
  await deployments.status.patch("ketch", {
    merge: { status: { replicas: 2, readyReplicas: 2, availableReplicas: 2 } },
  });
  await boats.until("ketch", (boat) => conditionOf(boat, "Ready")?.status === "True", { timeout: "60s" });
  const { items } = await eventually(async () => {
    const all = await Array.fromAsync(cluster.kind(Event).list({ in: namespace }));
    assert.ok(all.some(({ reason, regarding }) => reason === "Manned" && regarding.name === "ketch"));
    return { items: all };
  });
  assert.ok(items.every(({ reportingController }) => reportingController === "boat"));
  await deployments.patch("ketch", { merge: { spec: { replicas: 7 } } });
  await deployments.until("ketch", (one) => one?.spec.replicas === 2, { timeout: "60s" });
  const leases = cluster.kind(Lease).in(namespace);
  assert.notEqual((await leases.get("harbour")).spec.holderIdentity, "");
  assert.equal(await program.end(), 0, program.output());
  assert.equal(program.output(), "");
  assert.equal((await leases.get("harbour")).spec.holderIdentity, "", "the lease is released");
});

inBothDomains(
  "a finalizer keeps a boat until its mooring is released, also while the program is away",
  async (api, t) => {
    const shop = await openShop(api, t);
    const { boats, folder, namespace } = shop;
    const mooring = join(folder, `${namespace}-ketch.mooring`);
    const first = start(shop, "moorings.ts", t);
    await boats.create({ metadata: { name: "ketch" }, spec: { berth: "north 4" } });
    await boats.until("ketch", (boat) => conditionOf(boat, "Moored")?.status === "True", { timeout: "60s" });
    // The file is empty for a moment when it is written again.
    await eventually(async () => assert.equal(readFileSync(mooring, "utf8"), "north 4"));
    assert.equal(await first.end(), 0, first.output());
    await boats.delete("ketch");
    assert.deepEqual((await boats.get("ketch")).metadata.finalizers, ["harbour.example.com/mooring"]);
    assert.ok(existsSync(mooring));
    const second = start(shop, "moorings.ts", t);
    await boats.until("ketch", (boat) => boat === undefined, { timeout: "60s" });
    assert.equal(existsSync(mooring), false);
    assert.equal(await second.end(), 0, second.output());
  },
);

inBothDomains("a boat is looked at again when its chart changes, and metrics count that", async (api, t) => {
  const shop = await openShop(api, t);
  const { boats, cluster, namespace } = shop;
  const program = start(shop, "charts.ts", t);
  await boats.create({ metadata: { name: "ketch" } });
  await boats.until("ketch", (boat) => conditionOf(boat, "Charted")?.reason === "NoChart", { timeout: "60s" });
  const maps = cluster.kind(ConfigMap).in(namespace);
  const annotations = { "harbour.example.com/boat": "ketch" };
  await maps.create({ metadata: { name: "ketch-chart", annotations }, data: { length: "9" } });
  await boats.until("ketch", (boat) => boat?.status?.length === 9, { timeout: "60s" });
  await maps.patch("ketch-chart", { merge: { data: { length: "10" } } });
  await boats.until("ketch", (boat) => boat?.status?.length === 10, { timeout: "60s" });
  await maps.delete("ketch-chart");
  await boats.until("ketch", (boat) => conditionOf(boat, "Charted")?.status === "False", { timeout: "60s" });
  assert.equal(await program.end(), 0, program.output());
  assert.match(program.output(), /^controller_runtime_reconcile_total\{controller="boat",result="\w+"\} \d+\n$/);
});

inBothDomains("a crew is as many pods as the boat says, with those that were there before", async (api, t) => {
  const shop = await openShop(api, t);
  const { boats, cluster, namespace } = shop;
  const pods = cluster.kind(Pod).in(namespace);
  const labels = { crew: "ketch" };
  await pods.create({ metadata: { name: "cook", labels }, spec: { containers: [{ name: "cook", image: "cook" }] } });
  const program = start(shop, "crews.ts", t);
  await boats.create({ metadata: { name: "ketch" }, spec: { crew: 3 } });
  const crew = (count: number) =>
    eventually(async () => {
      const all = await Array.fromAsync(pods.list({ labels }));
      assert.equal(all.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length, count);
      return all;
    });
  const sailors = await crew(3);
  assert.ok(sailors.some(({ metadata }) => metadata.name === "cook"));
  for (const { metadata } of sailors) assert.equal(metadata.ownerReferences?.[0]?.name, "ketch");
  await boats.patch("ketch", { merge: { spec: { crew: 1 } } });
  await crew(1);
  await boats.until("ketch", (boat) => boat?.status?.length === 1, { timeout: "60s" });
  assert.equal(await program.end(), 0, program.output());
});

inBothDomains("a controller becomes quiet: when all is as it should be, it asks for nothing", async (api, t) => {
  const { boats, namespace } = await openShop(api, t);
  const transport = recorded(transportOf(api, t));
  const cluster = await clusterOf(api, t, { transport });
  const stop = new AbortController();
  let calls = 0;
  let look: (() => void) | undefined;
  const quiet = controller(Boat, {
    in: namespace,
    owns: [Deployment],
    async reconcile(boat, { apply, status, queue, owned }) {
      calls++;
      look = () => queue(`${namespace}/${boat.metadata.name}`);
      const labels = { boat: boat.metadata.name };
      await apply(Deployment, {
        metadata: { name: boat.metadata.name, labels },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [
                { name: "sailor", image: "sailor", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "b" }] },
              ],
            },
          },
        },
      });
      await status({ ready: { status: true, reason: "Done" } }, { length: owned(Deployment).length });
    },
  });
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const running = run(cluster, { signal: stop.signal, failed }, [quiet]);
  await boats.create({ metadata: { name: "ketch" }, spec: { crew: 1 } });
  await boats.until("ketch", (boat) => boat?.status?.length === 1, { timeout: "60s" });
  // The first calls may come before the copies in memory have what was written.
  let count = 0;
  await eventually(async () => {
    count = transport.requests.length;
    const before = calls;
    look?.();
    await eventually(async () => assert.ok(calls > before));
    assert.equal(transport.requests.length, count);
  });
  const version = (await boats.get("ketch")).metadata.resourceVersion;
  for (let round = 0; round < 5; round++) {
    const before = calls;
    look?.();
    await eventually(async () => assert.ok(calls > before));
  }
  assert.equal(transport.requests.length, count, transport.requests.join("\n"));
  assert.equal((await boats.get("ketch")).metadata.resourceVersion, version);
  assert.deepEqual(failures, []);
  stop.abort();
  await running;
});
