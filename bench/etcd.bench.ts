/**
 * The client of etcd on a real etcd of one member: CPU of the client for each operation. To run it alone: `node
 * --conditions=source bench/etcd.bench.ts`.
 */
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";
import type { EtcdClient, Transaction } from "#storage/etcd/client.ts";
import { openEtcd } from "#storage/etcd/members.ts";
import { EtcdCluster, missing } from "../test/scale-out/etcd-for-tests.ts";
import { progress, runAlone } from "./report.ts";
import { defaultWarmupSeconds, type Measurement, type Run, type Suite } from "./suite.ts";

const loops: Readonly<Record<string, number>> = { "etcd-txn-1": 1, "etcd-txn-16": 16, "etcd-txn-64": 64 };
const tlsRow = "etcd-txn-tls-16";
const keysCount = 5000;

export const etcdSuite: Suite = {
  name: "etcd",
  about: "the client of etcd, on a real etcd of one member without sync; CPU is that of the client",
  rows: {
    "etcd-txn-1": "transactions that compare a revision and put 1 KB, one after the other",
    "etcd-txn-16": "the same, 16 at a time",
    "etcd-txn-64": "the same, 64 at a time",
    [tlsRow]: "the same, 16 at a time, over TLS with a certificate of the client",
    "etcd-range-5000": "a range of 5,000 keys with values of 1 KB",
    "etcd-event": "one event of 1 KB of a watch, while another thread writes",
  },
  workloads: [],
  measure,
};

async function measure(run: Run): Promise<void> {
  const names = Object.keys(etcdSuite.rows).filter((name) => run.isWanted(name));
  if (names.length === 0) return;
  const reason = missing();
  if (reason !== undefined) return progress(`without ${names.join(", ")}: ${reason}`, true);
  if (names.some((name) => name !== tlsRow)) {
    await using(false, async (client, endpoint) => {
      for (const [name, atATime] of Object.entries(loops)) {
        await run.row(name, () => transactions(client, name, atATime, run.seconds));
      }
      await run.row("etcd-range-5000", () => ranges(client, run.seconds));
      await run.row("etcd-event", () => events(client, endpoint, run.seconds));
    });
  }
  if (names.includes(tlsRow))
    await using(true, (client) => run.row(tlsRow, () => transactions(client, tlsRow, 16, run.seconds)));
}

async function using(isTls: boolean, work: (client: EtcdClient, endpoint: string) => Promise<void>): Promise<void> {
  const cluster = await EtcdCluster.start({ isTls, flags: [`--quota-backend-bytes=${8 * 2 ** 30}`] });
  const { endpoints, tls = {} } = cluster;
  const client = openEtcd({ endpoints, tls, server: "bench", clock: systemClock, random: systemRandom });
  try {
    await work(client, endpoints[0]!);
  } finally {
    client.close();
    await cluster.stop();
  }
}

const value = Buffer.alloc(1024, "x");
const options = { timeoutMs: 10_000 };

/** Runs `operation` in loops, first for the warm-up, then for the figures. It returns how many operations it did. */
async function measureLoops(
  name: string,
  atATime: number,
  seconds: number,
  operation: (worker: number) => Promise<unknown>,
): Promise<Measurement> {
  const loop = async (lengthMs: number): Promise<number> => {
    const endMs = performance.now() + lengthMs;
    let count = 0;
    const one = async (worker: number): Promise<void> => {
      for (; performance.now() < endMs; count++) await operation(worker);
    };
    await Promise.all(Array.from({ length: atATime }, (_, worker) => one(worker)));
    return count;
  };
  await loop(defaultWarmupSeconds * 1000);
  const startMs = performance.now();
  const before = process.cpuUsage();
  const count = await loop(seconds * 1000);
  const used = process.cpuUsage(before);
  return {
    name,
    rate: (count * 1000) / (performance.now() - startMs),
    cpuUsPerOp: (used.user + used.system) / count,
  };
}

function transactions(client: EtcdClient, name: string, atATime: number, seconds: number): Promise<Measurement> {
  const revisions = new Map<string, number>();
  return measureLoops(name, atATime, seconds, async (worker) => {
    const key = `/${name}/${worker}`;
    const transaction: Transaction = {
      compare: [{ key, revision: revisions.get(key) ?? 0 }],
      then: [{ kind: "put", key, value }],
      otherwise: [{ kind: "range", range: { key } }],
    };
    const { succeeded, header } = await client.transact(transaction, options);
    assert.ok(succeeded);
    revisions.set(key, header.revision);
  });
}

async function ranges(client: EtcdClient, seconds: number): Promise<Measurement> {
  for (let from = 0; from < keysCount; from += 100) {
    const then = Array.from({ length: 100 }, (_, at) => ({ kind: "put", key: `/range/${from + at}`, value }) as const);
    await client.transact({ compare: [], then, otherwise: [] }, options);
  }
  return measureLoops("etcd-range-5000", 1, seconds, async () => {
    const { entries } = await client.range({ key: "/range/", end: "/range0" }, options);
    assert.equal(entries.length, keysCount);
  });
}

/** The writer has a thread, and so does the watch: only the time of this thread counts. */
async function events(client: EtcdClient, endpoint: string, seconds: number): Promise<Measurement> {
  const { header } = await client.range({ key: "/live/" }, options);
  const writer = new Worker(new URL("./etcd-writer.ts", import.meta.url), { workerData: { endpoint } });
  let count = 0;
  let problem: unknown;
  const watch = client.watch(
    { key: "/live/", end: "/live0", from: header.revision + 1 },
    {
      changed: (changes) => (count += changes.length),
      progressed() {},
      ended: (end) => (problem = end),
    },
  );
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    });
  await wait(defaultWarmupSeconds * 1000);
  const startMs = performance.now();
  const before = process.threadCpuUsage();
  const from = count;
  await wait(seconds * 1000);
  const used = process.threadCpuUsage(before);
  const measured = count - from;
  const rate = (measured * 1000) / (performance.now() - startMs);
  assert.equal(problem, undefined);
  watch.close();
  await writer.terminate();
  assert.ok(measured > 0);
  return { name: "etcd-event", rate, cpuUsPerOp: (used.user + used.system) / measured };
}

if (import.meta.main) await runAlone(etcdSuite);
