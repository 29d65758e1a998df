/**
 * Many planes of one server (`--planes`): their making, first request, use and removal, from source, in this process. Each is
 * checked to show nothing of its neighbour. PLANES sets their number. To run it alone:
 * `PLANES=100 node --expose-gc --conditions=source bench/planes.bench.ts`.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { type RunningServer, SharedParts, startServer } from "#server/start-server.ts";
import { runAlone } from "./report.ts";
import type { Measurement, Run, Suite } from "./suite.ts";

export const planesSuite: Suite = {
  name: "planes",
  about: "many planes of one server, in this process and from source; CPU of the process for one plane",
  rows: {
    make: "a Plane object, until the plane is ready; MB are those of one plane that nobody has used",
    open: "the first request to a plane, which opens it; MB are those of one plane that is open and empty",
    use: "a ConfigMap in each plane, and two requests that show nothing of a neighbour",
    remove: "the deletion of a Plane object, until nothing of the plane is left",
    server:
      "a further startServer() on disk in this process, with a port, that shares parts with others, until it is ready",
  },
  workloads: [],
  measure,
};

const count = Number(process.env["PLANES"] ?? 1000);
/** The number of further servers, after the first ones. */
const serverCount = 10;
const firstServers = 3;
/** The time in which controllers do what they do at the start. */
const settleMs = 3000;
/** The number of planes that are used at the same time. */
const clients = 4;

const plural = "/apis/planes.platform.io/v1alpha1/planes";
const maps = "/api/v1/namespaces/default/configmaps";

interface Answer {
  readonly code: number;
  readonly text: string;
}

type Send = (method: string, path: string, token: string, body?: object) => Promise<Answer>;

async function measure(run: Run): Promise<void> {
  await run.row("server", () => startServers());
  if (!Object.keys(planesSuite.rows).some((row) => row !== "server" && run.isWanted(row))) return;
  const folder = mkdtempSync(join(tmpdir(), "binnacle-planes-"));
  const planes = join(folder, "planes");
  const server = await startServer({
    dataDir: join(folder, "data"),
    bindAddress: "127.0.0.1",
    securePort: 0,
    planes,
    planesMax: count,
    planesIdleTimeoutMs: 0,
  });
  const agent = new https.Agent({ keepAlive: true, ca: server.ca, maxSockets: clients });
  const send = sender(server, agent);
  const names = Array.from({ length: count }, (_, at) => `plane-${at}`);
  const tokens = new Map<string, string>();
  try {
    await run.row("make", () => timed("make", () => make(send, server, names, tokens)));
    await run.row("open", () => timed("open", () => withEach(names, (name) => open(send, name, tokens))));
    await run.row("use", () =>
      timed("use", () => withEach(names, (name, at) => use(send, name, names[at - 1], tokens))),
    );
    await run.row("remove", () => timed("remove", () => remove(send, server, names)));
    assert.deepEqual(readdirSync(planes), []);
  } finally {
    agent.destroy();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function make(send: Send, { admin }: RunningServer, names: readonly string[], tokens: Map<string, string>) {
  const typed = { apiVersion: "planes.platform.io/v1alpha1", kind: "Plane" };
  await withEach(names, async (name) => {
    assert.equal((await send("POST", plural, admin.token, { ...typed, metadata: { name } })).code, 201);
  });
  await until(async () => {
    const { items } = JSON.parse((await send("GET", plural, admin.token)).text) as {
      readonly items: readonly { readonly status?: { readonly conditions?: readonly { readonly status: string }[] } }[];
    };
    return items.every(({ status }) => status?.conditions?.[0]?.status === "True");
  });
  await withEach(names, async (name) => {
    const path = `/api/v1/namespaces/platform-system/secrets/plane-${name}-kubeconfig`;
    const { data } = JSON.parse((await send("GET", path, admin.token)).text) as { data: { kubeconfig: string } };
    const kubeconfig = JSON.parse(Buffer.from(data.kubeconfig, "base64").toString()) as {
      readonly users: readonly [{ readonly user: { readonly token: string } }];
    };
    tokens.set(name, kubeconfig.users[0].user.token);
  });
}

async function open(send: Send, name: string, tokens: ReadonlyMap<string, string>): Promise<void> {
  assert.equal((await send("GET", `/planes/${name}/api/v1/namespaces`, tokens.get(name)!)).code, 200);
}

async function use(send: Send, name: string, neighbour: string | undefined, tokens: ReadonlyMap<string, string>) {
  const token = tokens.get(name)!;
  assert.equal((await send("POST", `/planes/${name}${maps}`, token, { metadata: { name } })).code, 201);
  if (neighbour === undefined) return;
  assert.equal((await send("GET", `/planes/${name}${maps}/${neighbour}`, token)).code, 404);
  assert.equal((await send("GET", `/planes/${neighbour}${maps}`, token)).code, 401);
}

async function remove(send: Send, { admin }: RunningServer, names: readonly string[]): Promise<void> {
  await withEach(names, async (name) => {
    assert.ok((await send("DELETE", `${plural}/${name}`, admin.token)).code < 300);
  });
  await until(async () => {
    const { items } = JSON.parse((await send("GET", plural, admin.token)).text) as {
      readonly items: readonly unknown[];
    };
    return items.length === 0;
  });
}

/** Starts further servers in this process. */
async function startServers(): Promise<Measurement> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-servers-"));
  const shared = new SharedParts();
  const servers: RunningServer[] = [];
  const start = async (): Promise<void> => {
    const settings = { dataDir: join(folder, String(servers.length)), bindAddress: "127.0.0.1", securePort: 0 };
    servers.push(await startServer(settings, { shared }));
  };
  try {
    for (let at = 0; at < firstServers; at++) await start();
    await sleep(settleMs);
    return await timed(
      "server",
      async () => {
        for (let at = 0; at < serverCount; at++) await start();
      },
      serverCount,
    );
  } finally {
    for (const server of servers) await server.close();
    await shared.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures work on planes, and what it leaves in memory. */
async function timed(name: string, work: () => Promise<unknown>, each = count): Promise<Measurement> {
  const before = residentMb();
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await work();
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  return { name, ms: ms / each, cpuUsPerOp: (user + system) / each, rssMb: (residentMb() - before) / each };
}

function residentMb(): number {
  (globalThis as { readonly gc?: () => void }).gc?.();
  return process.memoryUsage.rss() / 1e6;
}

/** Does work for each name, some at the same time. */
async function withEach(names: readonly string[], work: (name: string, at: number) => Promise<unknown>): Promise<void> {
  const waiting = names.entries();
  const next = async (): Promise<void> => {
    for (const [at, name] of waiting) await work(name, at);
  };
  await Promise.all(Array.from({ length: clients }, next));
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await sleep(200);
}

const sender =
  ({ url }: RunningServer, agent: https.Agent): Send =>
  (method, path, token, body) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const request = https.request(`${url}${path}`, { method, agent, headers }, (message) => {
        const pieces: Buffer[] = [];
        message.on("data", (piece: Buffer) => pieces.push(piece));
        message.on("end", () => resolve({ code: message.statusCode ?? 0, text: Buffer.concat(pieces).toString() }));
      });
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });

if (import.meta.main) await runAlone(planesSuite);
