/**
 * `npm run bench:beside -- FOLDER`: compares the CPU time of this version with that of another one, built in FOLDER. A
 * machine whose speed changes from second to second cannot show differences of some percent when the versions are measured
 * one after the other; here one client sends some milliseconds' work to each in turn, so that both meet the same seconds.
 * Servers are started several times, since two processes of the same program may differ as well.
 */
import { existsSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { join, resolve } from "node:path";
import { readCommandLine } from "../scripts/command-line.ts";
import { podNamespaceObjects, podOf } from "./pod-workload.ts";
import { usageOf } from "./process-usage.ts";
import { type Server, startServer } from "./server-process.ts";

const usage = `Compares the CPU time of this version with that of another one, over HTTP/2.

Usage: npm run bench:beside -- FOLDER [options]

FOLDER is another checkout of the program in which \`npm ci && npm run build\` was run. A ratio below 1 says that this
version needs less. Watch the error behind it: with four starts, most rows show differences of three percent.

  --rows NAMES      comma-separated: create, get, update, apply, pod, list, table, selector (default: all)
  --seconds N       measured time of a row (default 5)
  --flags FLAGS     further flags of both servers, separated by spaces
  --own FLAGS       further flags of this version only, as --tracing-config-file=FILE; FOLDER may be this checkout then
  --node FLAGS      flags of Node for this version only, separated by spaces: to compare settings of V8
  --starts N        number of times that both are started (default 4)
  -o json           print the ratios as JSON
  -h, --help        print this

Example:
  npm run bench:beside -- ../before --rows get,update --starts 8`;

const configMaps = "/api/v1/namespaces/default/configmaps";
const streams = 16;
const filler = "x".repeat(900);

/** A server with its one HTTP/2 connection, and what the rows remember of it. */
class Measured {
  readonly server: Server;
  readonly #session: ClientHttp2Session;
  /** The number of requests so far, from which names and values are made. */
  count = 0;
  objects: Stored[] = [];

  constructor(server: Server) {
    this.server = server;
    this.#session = connect(`https://${server.host}:${server.port}`, { rejectUnauthorized: false });
    this.#session.once("connect", () => this.#session.setLocalWindowSize(2 ** 26));
  }

  /** Resolves with the body of an answer, which must be a success. */
  send(
    method: string,
    path: string,
    body?: object | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const text = typeof body === "object" ? JSON.stringify(body) : body;
    return new Promise((settle, reject) => {
      const stream = this.#session.request({
        ":method": method,
        ":path": path,
        authorization: `Bearer ${this.server.token}`,
        ...(text === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }), // as Go's clients do
        ...headers,
      });
      let status = 0;
      const chunks: Buffer[] = [];
      stream.on("response", (head) => (status = head[":status"] ?? 0));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("end", () => {
        const answer = Buffer.concat(chunks).toString();
        if (status < 300) settle(answer);
        else reject(new Error(`${method} ${path} answered ${status}: ${answer.slice(0, 300)}`));
      });
      stream.end(text);
    });
  }

  async stop(): Promise<void> {
    this.#session.destroy();
    await this.server.stop();
  }
}

/** The part of a stored config map that an update changes. */
interface Stored {
  readonly metadata: { readonly name: string };
  readonly data: Record<string, string>;
}

interface Row {
  /** The number of requests in a turn of one server, and how many of them are under way at once. */
  readonly turn: number;
  readonly streams: number;
  prepare?(target: Measured): Promise<void>;
  /** Sends one request; `at` is the number of the stream. */
  request(target: Measured, at: number): Promise<unknown>;
}

const configMap = (name: string) => ({ metadata: { name }, data: { text: filler, count: "" } });

/** Creates objects of 1 KB in a namespace of their own, unless another row has. One of a hundred is picked by its label. */
async function createListed(target: Measured, namespace: string, count: number): Promise<void> {
  if ((await target.send("GET", "/api/v1/namespaces")).includes(`"name":"${namespace}"`)) return;
  await target.send("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  let next = 0;
  const create = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) {
      const { metadata, data } = configMap(`c${at}`);
      const labels = at % 100 === 0 ? { picked: "yes" } : {};
      await target.send("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
        metadata: { ...metadata, labels },
        data,
      });
    }
  };
  await Promise.all(Array.from({ length: streams }, create));
}

/** Returns a Deployment as one of two managers applies it. */
function deployment(name: string, manager: string, count: number) {
  const labels = { app: name, [manager]: String(count) };
  const env = Array.from({ length: 10 }, (_, at) => ({ name: `SETTING_${at}`, value: `value ${at}` }));
  const containers = [{ name: "app", image: "app:1", env, ports: [{ containerPort: 80 }] }];
  const template = { metadata: { labels: { app: name } }, spec: { containers } };
  const spec = { replicas: 3, selector: { matchLabels: { app: name } }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels }, spec };
}

const rows: Readonly<Record<string, Row>> = {
  create: {
    turn: 128,
    streams,
    request: (target) => target.send("POST", configMaps, configMap(`created-${target.count++}`)),
  },
  get: {
    turn: 256,
    streams,
    prepare: async (target) => void (await target.send("POST", configMaps, configMap("read"))),
    request: (target) => target.send("GET", `${configMaps}/read`),
  },
  update: {
    turn: 128,
    streams,
    async prepare(target) {
      const names = Array.from({ length: streams }, (_, at) => `updated-${at}`);
      const texts = await Promise.all(names.map((name) => target.send("POST", configMaps, configMap(name))));
      target.objects = texts.map((text) => JSON.parse(text) as Stored); // what was created
    },
    async request(target, at) {
      const object = target.objects[at]!;
      object.data["count"] = String(target.count++);
      const text = await target.send("PUT", `${configMaps}/${object.metadata.name}`, object);
      target.objects[at] = JSON.parse(text) as Stored; // the answer is the object
    },
  },
  apply: {
    turn: 64,
    streams,
    request(target, at) {
      const manager = target.count++ % 2 === 0 ? "one" : "two";
      const path = `/apis/apps/v1/namespaces/default/deployments/d${at}?fieldManager=${manager}&force=true`;
      const headers = { "content-type": "application/apply-patch+yaml" };
      return target.send("PATCH", path, deployment(`d${at}`, manager, target.count), headers);
    },
  },
  pod: {
    turn: 64,
    streams,
    async prepare(target) {
      await target.send("POST", "/api/v1/namespaces", { metadata: { name: "pods" } });
      for (const { path, object } of podNamespaceObjects)
        await target.send("POST", `/api/v1/namespaces/pods/${path}`, { apiVersion: "v1", ...object });
    },
    request: (target) => target.send("POST", "/api/v1/namespaces/pods/pods", podOf(`pod-${target.count++}`)),
  },
  list: {
    turn: 8,
    streams: 4,
    prepare: (target) => createListed(target, "listed", 500),
    request: (target) => target.send("GET", "/api/v1/namespaces/listed/configmaps"),
  },
  table: {
    turn: 8,
    streams: 4,
    prepare: (target) => createListed(target, "listed", 500),
    request(target) {
      const accept = `application/json;as=Table;v=v1;g=meta.${target.server.domain}`;
      return target.send("GET", "/api/v1/namespaces/listed/configmaps", undefined, { accept });
    },
  },
  selector: {
    turn: 32,
    streams: 4,
    prepare: (target) => createListed(target, "many", 5000),
    request: (target) => target.send("GET", "/api/v1/namespaces/many/configmaps?labelSelector=picked%3Dyes"),
  },
};

async function send(row: Row, target: Measured, requests: number): Promise<void> {
  let left = requests;
  await Promise.all(
    Array.from({ length: row.streams }, async (_, at) => {
      while (left-- > 0) await row.request(target, at);
    }),
  );
}

function words(text: string): readonly string[] {
  return text.split(" ").filter((word) => word !== "");
}

/** Measures one row on both servers in turns. Returns the CPU time of an operation of each in microseconds. */
async function measure(row: Row, targets: readonly Measured[], seconds: number): Promise<readonly number[]> {
  for (const target of targets) {
    await row.prepare?.(target);
    await send(row, target, 8 * row.turn);
  }
  const before = targets.map(({ server }) => usageOf(server.pid).cpuUs);
  let turns = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; turns++) {
    for (const target of targets) await send(row, target, row.turn);
  }
  return targets.map(({ server }, at) => (usageOf(server.pid).cpuUs - before[at]!) / (turns * row.turn));
}

/** Returns the geometric mean of ratios, and its standard error as a part of it. */
function summarize(ratios: readonly number[]): { readonly ratio: number; readonly error: number } {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length;
  const variance = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / Math.max(1, logs.length - 1);
  return { ratio: Math.exp(mean), error: Math.sqrt(variance / logs.length) };
}

const { values, positionals } = readCommandLine(
  usage,
  {
    rows: { type: "string", default: Object.keys(rows).join(",") },
    seconds: { type: "string", default: "5" },
    starts: { type: "string", default: "4" },
    flags: { type: "string", default: "" },
    own: { type: "string", default: "" },
    node: { type: "string", default: "" },
    output: { type: "string", short: "o" },
  },
  true,
);
const other = join(resolve(positionals[0] ?? ""), "dist/bin/binnacle.js");
const names = [...new Set(values.rows.split(","))];
const unknown = names.find((name) => !Object.hasOwn(rows, name));
if (positionals.length !== 1 || !existsSync(other) || unknown !== undefined) {
  const why =
    unknown === undefined ? `name a folder with a built program; ${other} is none` : `there is no row ${unknown}`;
  process.stderr.write(`bench:beside: ${why}. See --help.\n`);
  process.exit(2);
}
const flags = words(values.flags);
const ratios = new Map<string, number[]>(names.map((name) => [name, []]));
for (let start = 0; start < Number(values.starts); start++) {
  const own = new Measured(
    await startServer(undefined, [], [...flags, ...words(values.own)], undefined, words(values.node)),
  );
  const before = new Measured(await startServer(undefined, [], flags, other));
  // Each version goes first as often as the other.
  const isOwnFirst = start % 2 === 0;
  try {
    for (const name of names) {
      const costs = await measure(rows[name]!, isOwnFirst ? [own, before] : [before, own], Number(values.seconds));
      const [ours, theirs] = isOwnFirst ? [costs[0]!, costs[1]!] : [costs[1]!, costs[0]!];
      ratios.get(name)!.push(ours / theirs);
      process.stderr.write(
        `start ${start + 1}  ${name.padEnd(8)} ${ours.toFixed(1).padStart(8)} us, the other ${theirs.toFixed(1).padStart(8)} us\n`,
      );
    }
  } finally {
    await Promise.all([own.stop(), before.stop()]);
  }
}
const summaries = Object.fromEntries([...ratios].map(([name, all]) => [name, summarize(all)]));
if (values.output === "json") process.stdout.write(`${JSON.stringify(summaries)}\n`);
else {
  for (const [name, { ratio, error }] of Object.entries(summaries))
    process.stdout.write(`${name.padEnd(8)} ${ratio.toFixed(3)} ± ${error.toFixed(3)} of the CPU time of the other\n`);
}
