/**
 * The whole server over TLS: rate, CPU per operation, memory, and start. The server is one child process on a temporary
 * folder, the client is this process. Both share the machine, so only the CPU figures can be compared.
 */
import { closedLoop } from "./closed-loop.ts";
import { Connection, requestBytes } from "./connection.ts";
import { usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { benchToken as token, type Server, startServer } from "./server-process.ts";
import type { Measurement, Run, Suite } from "./suite.ts";

export const serverSuite: Suite = {
  name: "server",
  about: "the whole server over TLS, built-in kinds",
  rows: {
    start: "from the start of the process until it is ready, on an empty folder",
    idle: "the memory three seconds later, and the CPU time that the start took until then",
    "get-64": "GET of a ConfigMap of 1 KB, 64 connections",
    "list-500": "full list of 500, 4 connections",
    "patch-merge-16": "merge patch of one value, 16 connections",
    "create-1": "POST of a ConfigMap of 1 KB, 1 connection",
    "create-16": "the same over 16 connections",
    "list-5000": "full list of 5,000, 4 connections",
    "watch-fanout-1000": "one event delivered to one of 1,000 watchers, one writer at full speed",
    "growth-100000": "100,000 ConfigMaps created; the memory they take",
  },
  workloads: [],
  measure: measureServer,
};

const filler = "x".repeat(880);
const configMap = (name: string, extra = ""): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"filler":"${filler}${extra}"}}`;
const namespaceBody = (name: string): string => `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${name}"}}`;
const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

async function fill(server: Server, namespace: string, count: number): Promise<void> {
  const open = await Promise.all(Array.from({ length: 32 }, () => Connection.open(server)));
  await open[0]!.request(requestBytes("POST", "/api/v1/namespaces", token, namespaceBody(namespace)));
  let next = 0;
  await Promise.all(
    open.map(async (connection) => {
      while (next < count) {
        const name = `m${String(next++).padStart(6, "0")}`;
        const { code } = await connection.request(requestBytes("POST", maps(namespace), token, configMap(name)));
        if (code !== 201) throw new Error(`create answered ${code}`);
      }
      connection.close();
    }),
  );
}

/** Measures one writer at full speed, with `watchers` connections that watch. An operation is one delivered event. */
async function fanOut(server: Server, watchers: number, seconds: number): Promise<Measurement> {
  const open: Connection[] = [];
  let delivered = 0;
  const marker = Buffer.from('{"type":"');
  for (let i = 0; i < watchers; i++) {
    const connection = await Connection.open(server);
    connection.stream(
      requestBytes("GET", `${maps("fan")}?watch=true&resourceVersion=0&timeoutSeconds=600`, token),
      (chunk) => {
        for (let at = chunk.indexOf(marker); at >= 0; at = chunk.indexOf(marker, at + marker.length)) delivered++;
      },
    );
    open.push(connection);
  }
  const writer = await Connection.open(server);
  await new Promise((resolve) => setTimeout(resolve, 500));
  delivered = 0;
  const before = usageOf(server.pid);
  const startMs = performance.now();
  let sent = 0;
  while (performance.now() - startMs < seconds * 1000) {
    if (sent - delivered / watchers > 16) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    await writer.request(requestBytes("POST", maps("fan"), token, configMap(`f${sent++}`)));
  }
  while (delivered < sent * watchers * 0.999 && performance.now() - startMs < seconds * 3000) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const elapsed = (performance.now() - startMs) / 1000;
  const after = usageOf(server.pid);
  for (const connection of [...open, writer]) connection.close();
  return {
    name: `watch-fanout-${watchers}`,
    rate: delivered / elapsed,
    cpuUsPerOp: (after.cpuUs - before.cpuUs) / delivered,
    rssMb: after.rssMb,
  };
}

/** The time after which the first work of the controllers is done, in milliseconds. */
const idleAfterMs = 3000;

async function afterStart({ pid }: Server): Promise<Measurement> {
  await new Promise((resolve) => setTimeout(resolve, idleAfterMs));
  const { cpuUs, rssMb } = usageOf(pid);
  return { name: "idle", cpuUsPerOp: cpuUs, rssMb };
}

async function measureServer(run: Run): Promise<void> {
  const server = await startServer();
  try {
    await run.row("start", () => ({ name: "start", ms: server.startMs, rssMb: usageOf(server.pid).rssMb }));
    await run.row("idle", () => afterStart(server));
    await fill(server, "bench", 500);
    const loop = (
      name: string,
      connections: number,
      next: (worker: number, count: number) => Buffer,
      operationsMax = Number.POSITIVE_INFINITY,
    ): Promise<void> =>
      run.row(name, () => closedLoop(server, { name, connections, seconds: run.seconds, operationsMax, next }));
    const post = (worker: number, count: number): Buffer =>
      requestBytes(
        "POST",
        maps("bench"),
        token,
        configMap(`c${worker}-${count}-${Math.random().toString(36).slice(2)}`),
      );
    await loop("get-64", 64, (_, count) =>
      requestBytes("GET", `${maps("bench")}/m${String(count % 500).padStart(6, "0")}`, token),
    );
    await loop("list-500", 4, () => requestBytes("GET", maps("bench"), token));
    await loop("patch-merge-16", 16, (worker, count) =>
      requestBytes(
        "PATCH",
        `${maps("bench")}/m${String(worker).padStart(6, "0")}`,
        token,
        `{"data":{"k":"${count}"}}`,
        "application/merge-patch+json",
      ),
    );
    await loop("create-1", 1, post, 40_000);
    await loop("create-16", 16, post, 40_000);
    if (run.isWanted("list-5000")) await fill(server, "large", 5000);
    await loop("list-5000", 4, () => requestBytes("GET", maps("large"), token));
    await run.row("watch-fanout-1000", async () => {
      await fill(server, "fan", 0);
      return fanOut(server, 1000, run.seconds);
    });
    await run.row("growth-100000", async () => {
      const startMs = performance.now();
      for (let i = 0; i < 20; i++) await fill(server, `grow${i}`, 5000);
      return {
        name: "growth-100000",
        rate: 100_000 / ((performance.now() - startMs) / 1000),
        rssMb: usageOf(server.pid).rssMb,
      };
    });
  } finally {
    await server.stop();
  }
}

if (import.meta.main) await runAlone(serverSuite);
