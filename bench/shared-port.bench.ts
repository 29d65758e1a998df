/**
 * The gain of several serving processes: reads of a server with one and with two of them, beside each other. The clients
 * are two threads, so that they do not bound the rate where there are cores for them; on a machine of two cores they
 * compete with the server, and the CPU time says more. To run it alone: `node --conditions=source
 * bench/shared-port.bench.ts`.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ReadLoop } from "./read-thread.ts";
import { requestBytes } from "./connection.ts";
import { postLoop } from "./closed-loop.ts";
import { treeOf, usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import { defaultWarmupSeconds, type Measurement, type Run, type Suite } from "./suite.ts";
import { Client, type Target } from "./target.ts";

const counts = [1, 2] as const;
const objects = 100;
const collection = "/api/v1/namespaces/default/configmaps";
const paths = { get: `${collection}/c0`, list: collection } as const;
const clientThreads = 2;
/** The warm-up for each process: code is compiled in each of them. */
const warmupSeconds = 2 * defaultWarmupSeconds;
/** The connections of each thread. */
const connections = 32;

export const sharedPortSuite: Suite = {
  name: "shared-port",
  about: "reads of a server with --processes=1 and 2, 64 at a time; the rates need four cores to differ",
  rows: {
    "get-1-process": "a read of one object of 1 KB by one process",
    "get-2-processes": "the same by two processes",
    "list-1-process": "a list of 100 objects by one process",
    "list-2-processes": "the same by two processes",
    "create-asked": "a create with three processes, over one connection: CPU of the process that is asked",
    "create-owner": "the CPU of process 0 meanwhile, which owns the log and is not asked",
    "create-other": "the CPU of a process that only hears of the change",
  },
  workloads: [],
  measure,
};

const nameOf = (verb: keyof typeof paths, count: number): string =>
  `${verb}-${count}-process${count === 1 ? "" : "es"}`;

async function measure(run: Run): Promise<void> {
  for (const count of counts) {
    const verbs = (["get", "list"] as const).filter((verb) => run.isWanted(nameOf(verb, count)));
    if (verbs.length === 0) continue;
    const server = await startServer(undefined, [], [`--processes=${count}`]);
    try {
      await fill(server, count);
      for (const verb of verbs) await run.row(nameOf(verb, count), () => reads(server, verb, count, run.seconds));
    } finally {
      await server.stop();
    }
  }
  await createShares(run);
}

/** Measures the CPU time of each process while one that does not own the log is asked to create objects. */
async function createShares(run: Run): Promise<void> {
  const names = ["create-asked", "create-owner", "create-other"] as const;
  if (!names.some((name) => run.isWanted(name))) return;
  const server = await startServer(undefined, [], ["--processes=3"]);
  try {
    await fill(server, 3);
    const processes = treeOf(server.pid).slice(1);
    let created = 0;
    const data = { text: "x".repeat(900) };
    const body = (): string => JSON.stringify({ metadata: { name: `n${created++}` }, data });
    // Each loop has a new connection, which comes to the next process.
    const create = (name: string, seconds: number) =>
      postLoop(server, collection, { name, streams: 16, seconds, body });
    for (const _process of processes) await create("warm-up", warmupSeconds);
    let owner: number;
    let others: readonly number[];
    do {
      const before = processes.map((pid) => usageOf(pid).cpuUs);
      const first = created;
      await create("create", run.seconds);
      const costs = processes.map((pid, at) => (usageOf(pid).cpuUs - before[at]!) / (created - first));
      [owner = Number.NaN, ...others] = costs;
      // The process that is asked takes the most time.
    } while (owner > Math.max(...others));
    const shares = [Math.max(...others), owner, Math.min(...others)];
    for (const [at, name] of names.entries()) {
      await run.row(name, () => Promise.resolve({ name, cpuUsPerOp: shares[at]! }));
    }
  } finally {
    await server.stop();
  }
}

/** Creates the objects, and waits until all processes serve. */
async function fill(target: Target, count: number): Promise<void> {
  const client = await Client.open(target);
  const data = { text: "x".repeat(900) };
  for (let at = 0; at < objects; at++)
    await client.send("POST", collection, JSON.stringify({ metadata: { name: `c${at}` }, data }));
  while (count > 1 && !/^binnacle_processes_missing 0$/m.test(await client.send("GET", "/metrics")));
  client.close();
}

async function reads(target: Target, verb: keyof typeof paths, count: number, seconds: number): Promise<Measurement> {
  const request = requestBytes("GET", paths[verb], target.token);
  const { host, port, ca } = target;
  await inThreads({ host, port, ca, request, connections, seconds: warmupSeconds * count });
  const before = usageOf(target.pid);
  const counted = await inThreads({ host, port, ca, request, connections, seconds });
  const after = usageOf(target.pid);
  return {
    name: nameOf(verb, count),
    rate: counted / seconds,
    cpuUsPerOp: (after.cpuUs - before.cpuUs) / counted,
    rssMb: after.rssMb,
  };
}

/** Runs the loop in threads at the same time. Returns the number of answers of all. */
async function inThreads(loop: ReadLoop): Promise<number> {
  const counts = Array.from({ length: clientThreads }, async () => {
    const thread = new Worker(new URL("./read-thread.ts", import.meta.url), { workerData: loop });
    const [count] = (await once(thread, "message")) as [number];
    return count;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

if (import.meta.main) await runAlone(sharedPortSuite);
