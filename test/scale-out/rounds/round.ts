/**
 * A round: three members of etcd and three servers behind a relay, clients that write, read and watch through all of them,
 * faults by a seed, and then the rules of `check.ts` for everything that was answered.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "#std/random.ts";
import { EtcdCluster } from "../etcd-for-tests.ts";
import { Http2Client } from "../http2-client.ts";
import { Relay } from "../relay.ts";
import { Servers } from "../server-processes.ts";
import { until } from "../until.ts";
import { check } from "./check.ts";
import { type FaultTargets, healAll, runFaults } from "./faults.ts";
import type { Call, History } from "./history.ts";
import { Truth } from "./truth.ts";
import { Watcher } from "./watchers.ts";
import { type ObjectBody, Writer } from "./writers.ts";

export interface RoundResult {
  readonly seed: number;
  readonly problems: readonly string[];
  /** Calls by what became of them. */
  readonly calls: number;
  readonly acknowledged: number;
  readonly open: number;
  readonly reads: number;
  readonly events: number;
  readonly streams: number;
  readonly relists: number;
  readonly faults: number;
  /** The number of calls by kind and status; 0 is no answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The folder of the history, if there are problems. */
  readonly folder?: string;
}

const namespace = "rounds";
const path = `/api/v1/namespaces/${namespace}/configmaps`;

interface RoundOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The number of clients that write and read. There are half as many objects again. */
  readonly writers: number;
  /** Is told what happens. */
  said(text: string): void;
}

/** Runs a round. */
export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const { seed } = options;
  const relay = new Relay();
  let cluster: EtcdCluster | undefined;
  let servers: Servers | undefined;
  let logged: ReadonlyMap<string, string> = new Map();
  try {
    cluster = await EtcdCluster.start({ members: 3, relay });
    servers = await Servers.start({ cluster, count: 3, relay, flags: ["--etcd-compaction-interval=10s"] });
    const made = await record({ cluster, servers, relay }, options);
    const problems = [...made.problems, ...(await check(made.history))];
    logged = await servers.stop();
    const folder = problems.length === 0 ? undefined : save(seed, { ...made, problems }, logged);
    return { ...counts(made), seed, problems, ...(folder === undefined ? {} : { folder }) };
  } finally {
    await servers?.stop();
    await cluster?.stop();
    await relay.stop();
  }
}

interface Recorded {
  readonly history: History;
  readonly problems: readonly string[];
  readonly told: readonly string[];
  readonly streams: number;
  readonly relists: number;
}

async function record(targets: FaultTargets, { seed, seconds, writers: count, said }: RoundOptions): Promise<Recorded> {
  const { cluster, servers } = targets;
  const random = seededRandom(seed);
  const own = (): ReturnType<typeof seededRandom> => seededRandom(Math.floor(random.next() * 2 ** 32));
  const first = await begin(servers);
  const truth = new Truth(`/registry/configmaps/${namespace}/`, first + 1, cluster.endpoints);
  const keys = Array.from({ length: Math.ceil(count * 1.5) }, (_, at) => `k${at}`);
  const writers = Array.from({ length: count }, (_, id) => new Writer(id, servers.all, path, keys, own()));
  const watchers = Array.from({ length: 3 }, (_, id) => new Watcher(id, servers.all, path, own()));
  const told: string[] = [];
  const tell = (text: string): void => {
    told.push(`${Math.round(performance.now() * 1000)} ${text}`);
    said(text);
  };
  const busy = new AbortController();
  const watching = new AbortController();
  try {
    const watches = watchers.map((watcher) => watcher.run(watching.signal));
    const writes = writers.map((writer) => writer.run(busy.signal));
    const faulty = [own(), own()].map((of) => runFaults(targets, of, busy.signal, tell));
    await sleep(seconds * 1000);
    busy.abort();
    await Promise.all(faulty);
    await healAll(targets);
    tell("all is well again");
    await Promise.all(writes);
    const problems = await settle(servers, truth, watchers);
    watching.abort();
    await Promise.all(watches);
    const calls = writers.flatMap((writer) => writer.calls);
    const segments = watchers.flatMap((watcher) => watcher.segments);
    const sum = (of: (watcher: Watcher) => number): number => watchers.reduce((total, one) => total + of(one), 0);
    return {
      history: { keys, calls, segments, changes: truth.changes, first },
      problems,
      told,
      streams: sum(({ streams }) => streams),
      relists: sum(({ relists }) => relists),
    };
  } finally {
    busy.abort();
    watching.abort();
    for (const writer of writers) writer.close();
    await truth.stop();
  }
}

/** Creates the namespace. Returns the version from which on only the clients of the round write to it. */
async function begin(servers: Servers): Promise<number> {
  const client = new Http2Client(servers.all[0]!);
  try {
    return await until(async () => {
      const made = await client.call("/api/v1/namespaces", { method: "POST", body: { metadata: { name: namespace } } });
      if (made.status !== 201 && made.status !== 409) throw new Error(`there is no namespace: ${made.text}`);
      const { text } = await client.call(path);
      const { items = [], metadata } = JSON.parse(text) as ObjectBody;
      if (items.length === 0) throw new Error("the authority is not there yet");
      return Number(metadata.resourceVersion);
    });
  } finally {
    client.close();
  }
}

/**
 * Waits, when all is well again, until every server serves, and has all that etcd has. Returns what does not come to
 * rest.
 */
async function settle(servers: Servers, truth: Truth, watchers: readonly Watcher[]): Promise<string[]> {
  const clients = servers.all.map((server) => new Http2Client(server));
  try {
    for (const [at, client] of clients.entries()) {
      await until(async () => {
        const { status, text } = await client.call("/readyz?verbose");
        if (status !== 200) throw new Error(`s${at} does not become ready: ${text}`);
      });
    }
    const last = await until(async () => {
      const { status, text } = await clients[0]!.call(path, { method: "POST", body: { metadata: { name: "last" } } });
      if (status !== 201) throw new Error(`there is no write when all is well: ${text}`);
      return Number((JSON.parse(text) as ObjectBody).metadata.resourceVersion);
    });
    await until(() => {
      if (!truth.reaches(last)) throw new Error("the truth about the round is not known: its history was compacted");
    });
    for (const [at, watcher] of watchers.entries()) {
      await until(() => {
        if (watcher.heard < last) throw new Error(`watcher ${at} stands still at ${watcher.heard}, before ${last}`);
      });
    }
    return await compareContents(clients, last);
  } catch (error) {
    return [(error as Error).message];
  } finally {
    for (const client of clients) client.close();
  }
}

/** All servers must show the same bytes at the same version. */
async function compareContents(clients: readonly Http2Client[], version: number): Promise<string[]> {
  const digests = new Set<string>();
  for (const client of clients) {
    const { status, text } = await client.call(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    digests.add(`${status} ${createHash("sha256").update(text).digest("hex")}`);
  }
  return digests.size === 1 ? [] : [`the servers end with different contents: ${[...digests].join(", ")}`];
}

const isAcknowledged = ({ kind, status }: Call): boolean =>
  kind !== "get" && kind !== "list" && status >= 200 && status < 300;

function counts({ history, told, streams, relists }: Recorded): Omit<RoundResult, "seed" | "problems"> {
  const { calls, segments } = history;
  const of = (is: (call: Call) => boolean): number => calls.filter(is).length;
  return {
    calls: calls.length,
    acknowledged: of(isAcknowledged),
    open: of(({ status }) => status === 0 || status >= 500),
    reads: of(({ kind, status }) => (kind === "get" || kind === "list") && status < 500 && status !== 0),
    events: segments.reduce((sum, { events }) => sum + events.length, 0),
    streams,
    relists,
    faults: told.length - 1,
    statuses: statusesOf(calls),
  };
}

function statusesOf(calls: readonly Call[]): Record<string, number> {
  const statuses: Record<string, number> = {};
  for (const { kind, status } of calls) statuses[`${kind} ${status}`] = (statuses[`${kind} ${status}`] ?? 0) + 1;
  return statuses;
}

/** Writes down a round with problems. Returns the folder. */
function save(seed: number, made: Recorded, logged: ReadonlyMap<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), `binnacle-round-${seed}-`));
  writeFileSync(join(folder, "round.json"), JSON.stringify(made, undefined, 1));
  for (const [name, text] of logged) writeFileSync(join(folder, `${name}.log`), text);
  return folder;
}
