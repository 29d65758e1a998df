/**
 * The controllers: the time until a dependent is deleted after its owner, the rate for many dependents, and the cost of
 * the garbage collector's graph; the time until namespaces with content are deleted; and creates under a quota. To run
 * it alone, after a build: `node --conditions=source bench/controllers.bench.ts`.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { OwnershipGraph } from "#controllers/garbage-collector/graph.ts";
import { affectsGraph } from "#controllers/garbage-collector/observed-object.ts";
import { createLoop } from "./closed-loop.ts";
import { bestOf } from "./in-process.ts";
import { usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import {
  type Measurement,
  measureWorkloads,
  median,
  type PreparedWorkload,
  type Run,
  type Suite,
  type Workload,
} from "./suite.ts";
import { Client, dropNamespace, makeNamespace, type Target } from "./target.ts";

const serverRows = {
  "collect-one": "from DELETE of an owner until its dependent is gone, at rest",
  "collect-10k": "from DELETE of an owner until its 10,000 dependents are gone",
  "collect-100k": "the same with 100,000",
  "namespaces-100": "from DELETE of a namespace with 20 objects until it is gone, 100 of them at once",
} as const;

const quotaWorkloads: readonly Workload[] = [
  { name: "create-64-quota", prepare: (target) => prepareCreates(target, "create-64-quota", true) },
  { name: "create-64-no-quota", prepare: (target) => prepareCreates(target, "create-64-no-quota", false) },
];

export const controllersSuite: Suite = {
  name: "controllers",
  about: "the garbage collector, namespaces and quotas, through the whole server, and the collector's graph",
  rows: {
    ...serverRows,
    "create-64-quota": "POST of a ConfigMap of 1 KB over 64 connections, in a namespace with a quota that counts them",
    "create-64-no-quota": "the same in a namespace without a quota",
    "graph-1m": "a graph of 100,000 owners with 9 dependents each; its memory after a collection of garbage",
    "pass-by": "an event of another server about an object of 1 KB without owners",
  },
  workloads: quotaWorkloads,
  measure,
};

async function measure(run: Run): Promise<void> {
  if ([...Object.keys(serverRows), ...quotaWorkloads.map(({ name }) => name)].some((name) => run.isWanted(name))) {
    const server = await startServer();
    try {
      const maps = `/api/v1/namespaces/${await makeNamespace(server, "gc")}/configmaps`;
      await run.row("collect-one", () => collectOne(server, maps));
      await run.row("collect-10k", () => collectMany("collect-10k", server, maps, 10_000));
      await run.row("collect-100k", () => collectMany("collect-100k", server, maps, 100_000));
      await run.row("namespaces-100", () => dropNamespaces(server));
      await measureWorkloads(run, server, quotaWorkloads);
    } finally {
      await server.stop();
    }
  }
  await run.row("graph-1m", buildGraph);
  await run.row("pass-by", passBy);
}

const object = (name: string, owner?: { readonly name: string; readonly uid: string }): string => {
  const ownerReferences = owner === undefined ? [] : [{ apiVersion: "v1", kind: "ConfigMap", ...owner }];
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, ownerReferences } });
};

async function makeOwner(client: Client, maps: string): Promise<{ readonly name: string; readonly uid: string }> {
  const name = "owner";
  const text = await client.send("POST", maps, object(name));
  const { metadata } = JSON.parse(text) as { readonly metadata: { readonly uid: string } };
  return { name, uid: metadata.uid };
}

async function collectOne(server: Target, maps: string): Promise<Measurement> {
  const client = await Client.open(server);
  const times: number[] = [];
  for (let at = 0; at < 50; at++) {
    await client.send("POST", maps, object("child", await makeOwner(client, maps)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await client.send("DELETE", `${maps}/owner`);
    const began = performance.now();
    while ((await client.ask("GET", `${maps}/child`)).code !== 404);
    times.push(performance.now() - began);
  }
  client.close();
  return { name: "collect-one", ms: median(times), longestMs: Math.max(...times) };
}

const connections = 16;

async function collectMany(name: string, server: Target, maps: string, count: number): Promise<Measurement> {
  const client = await Client.open(server);
  const owner = await makeOwner(client, maps);
  const names = Array.from({ length: count }, (_, at) => `child-${at}`);
  await inParallel(server, names, async (maker, child) => {
    await maker.send("POST", maps, object(child, owner));
  });
  const { cpuUs } = usageOf(server.pid);
  const began = performance.now();
  await client.send("DELETE", `${maps}/owner`);
  while ((await client.ask("GET", `${maps}?limit=1`)).text.includes('"child-')) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const ms = performance.now() - began;
  const after = usageOf(server.pid);
  client.close();
  return { name, rate: (count * 1000) / ms, cpuUsPerOp: (after.cpuUs - cpuUs) / count, rssMb: after.rssMb, ms };
}

const namespacesCount = 100;

/** Measures the deletion of namespaces with content, all at the same time. */
async function dropNamespaces(server: Target): Promise<Measurement> {
  const client = await Client.open(server);
  const list = "/api/v1/namespaces?labelSelector=bench%3Dmany";
  const names = Array.from({ length: namespacesCount }, (_, at) => `bench-many-${at}`);
  await inParallel(server, names, makeFilledNamespace);
  const { cpuUs } = usageOf(server.pid);
  const began = performance.now();
  const goneMs = new Map<string, number>();
  const deletions = inParallel(server, names, async (deleter, name) => {
    await deleter.send("DELETE", `/api/v1/namespaces/${name}`);
  });
  while (goneMs.size < namespacesCount) {
    const text = await client.send("GET", list);
    const at = performance.now() - began;
    for (const name of names) if (!goneMs.has(name) && !text.includes(`"name":"${name}"`)) goneMs.set(name, at);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await deletions;
  const times = [...goneMs.values()];
  const cpuUsPerOp = (usageOf(server.pid).cpuUs - cpuUs) / namespacesCount;
  client.close();
  return { name: "namespaces-100", cpuUsPerOp, ms: median(times), longestMs: Math.max(...times) };
}

async function makeFilledNamespace(client: Client, name: string): Promise<void> {
  const metadata = { name, labels: { bench: "many" } };
  await client.send("POST", "/api/v1/namespaces", JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata }));
  for (let at = 0; at < 10; at++) {
    for (const [kind, resource] of [
      ["ConfigMap", "configmaps"],
      ["Secret", "secrets"],
    ] as const) {
      const body = JSON.stringify({ apiVersion: "v1", kind, metadata: { name: `o-${at}` } });
      await client.send("POST", `/api/v1/namespaces/${name}/${resource}`, body);
    }
  }
}

/** Calls `work` for each item, over several connections. */
async function inParallel<T>(
  server: Target,
  items: readonly T[],
  work: (client: Client, item: T) => Promise<void>,
): Promise<void> {
  const loops = Array.from({ length: connections }, async (_, from) => {
    const client = await Client.open(server);
    for (let at = from; at < items.length; at += connections) await work(client, items[at]!);
    client.close();
  });
  await Promise.all(loops);
}

const filler = "x".repeat(860);
const giveUpMs = 60_000;

/** Prepares a namespace, with or without a quota in force. */
async function prepareCreates(target: Target, name: string, hasQuota: boolean): Promise<PreparedWorkload> {
  const namespace = await makeNamespace(target, "quota");
  const path = `/api/v1/namespaces/${namespace}`;
  if (hasQuota) await makeQuota(target, path);
  return {
    measure: (seconds) =>
      createLoop(target, {
        name,
        connections: 64,
        seconds,
        operationsMax: 60_000,
        path: `${path}/configmaps`,
        object: (map) =>
          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${map}"},"data":{"filler":"${filler}"}}`,
      }),
    clean: () => dropNamespace(target, namespace),
  };
}

async function makeQuota(target: Target, path: string): Promise<void> {
  const client = await Client.open(target);
  const spec = { hard: { "count/configmaps": "1000000", "count/secrets": "1000", pods: "1000" } };
  const quota = JSON.stringify({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "quota" }, spec });
  await client.send("POST", `${path}/resourcequotas`, quota);
  const began = performance.now();
  while (!(await client.send("GET", `${path}/resourcequotas/quota`)).includes('"used"')) {
    if (performance.now() - began > giveUpMs) throw new Error(`${target.name}: nobody counts what a quota counts`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  client.close();
}

const owners = 100_000;
const dependentsEach = 9;

function buildGraph(): Measurement {
  const uid = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
  const before = measureMb();
  const start = process.threadCpuUsage();
  const graph = new OwnershipGraph({ unverified() {}, suspect() {}, crowded() {} });
  const common = {
    isBeingDeleted: false,
    deletesDependents: false,
    orphansDependents: false,
    round: 1,
    isForeign: false,
  };
  for (let at = 0; at < owners * dependentsEach; at++) {
    const owner = at % owners;
    // The objects are parsed from JSON, as in a server: each has texts of its own.
    graph.observe({
      apiVersion: "v1",
      kind: "Pod",
      namespace: `namespace-${owner % 100}`,
      name: `dependent-${at}`,
      uid: uid(owners + at),
      owners: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `owner-${owner}`, uid: uid(owner) }],
      ...common,
    });
  }
  const used = process.threadCpuUsage(start);
  const rssMb = measureMb() - before;
  return { name: "graph-1m", cpuUsPerOp: (used.user + used.system) / graph.size, rssMb };
}

/** Returns the memory that the process uses after a garbage collection. */
function measureMb(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

function passBy(): Measurement {
  const graph = new OwnershipGraph({ unverified() {}, suspect() {}, crowded() {} });
  const metadata = { name: "a", namespace: "n", uid: "11111111-1111-4111-8111-111111111111", resourceVersion: "1" };
  const data = { text: "x".repeat(900) };
  const line = Buffer.from(JSON.stringify({ type: "MODIFIED", object: { kind: "ConfigMap", metadata, data } }));
  return bestOf("pass-by", 200_000, () => affectsGraph(line, graph, true));
}

if (import.meta.main) await runAlone(controllersSuite);
