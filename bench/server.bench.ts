/**
 * The whole server over TLS: rate, server CPU per operation, memory, start. One child process on a temporary folder,
 * one client in this process; both share the machine, so the CPU figures are the ones to compare.
 */
import { Connection, requestBytes } from "./connection.ts";
import { type Usage, usageOf } from "./process-usage.ts";
import { benchToken, type Server, startServer } from "./server-process.ts";

export interface Measurement {
  readonly name: string;
  /** Operations a second; absent where a row has no rate. */
  readonly rate?: number;
  readonly cpuUsPerOp?: number;
  readonly rssMb?: number;
  readonly ms?: number;
}

const token = benchToken;

const seconds = Number(process.env["BENCH_SECONDS"] ?? 3);

/** Closed loop of `connections` for some seconds, at most `max` operations. */
export async function loop(
  server: Server,
  name: string,
  connections: number,
  next: (worker: number, count: number) => Buffer,
  max = Number.POSITIVE_INFINITY,
): Promise<Measurement> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(server.port, server.ca)));
  let count = 0;
  let deadline = Number.POSITIVE_INFINITY;
  let started = 0;
  let before: Usage = usageOf(server.pid);
  const warmup = Math.min(200, max / 10);
  await Promise.all(
    open.map(async (connection, worker) => {
      while (performance.now() < deadline && count < max + warmup) {
        const { code, body } = await connection.request(next(worker, count++));
        if (code >= 300) throw new Error(`${name}: ${code} ${body.toString().slice(0, 300)}`);
        if (started === 0 && count >= warmup) {
          before = usageOf(server.pid);
          started = performance.now();
          count = 0;
          deadline = started + seconds * 1000;
        }
      }
    }),
  );
  const elapsed = (performance.now() - started) / 1000;
  const after = usageOf(server.pid);
  for (const connection of open) connection.close();
  return {
    name,
    rate: Math.round(count / elapsed),
    cpuUsPerOp: Math.round(((after.cpuUs - before.cpuUs) / count) * 10) / 10,
    rssMb: Math.round(after.rssMb),
  };
}

const filler = "x".repeat(880);
const configMap = (name: string, extra = ""): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"filler":"${filler}${extra}"}}`;
const namespaceBody = (name: string): string => `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${name}"}}`;
const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

async function fill(server: Server, namespace: string, count: number): Promise<void> {
  const open = await Promise.all(Array.from({ length: 32 }, () => Connection.open(server.port, server.ca)));
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

/** One writer at full speed, `watchers` connections that watch; an operation is one delivered event. */
async function fanOut(server: Server, watchers: number): Promise<Measurement> {
  const open: Connection[] = [];
  let delivered = 0;
  const marker = Buffer.from('{"type":"');
  for (let i = 0; i < watchers; i++) {
    const connection = await Connection.open(server.port, server.ca);
    connection.stream(
      requestBytes("GET", `${maps("fan")}?watch=true&resourceVersion=0&timeoutSeconds=600`, token),
      (chunk) => {
        for (let at = chunk.indexOf(marker); at >= 0; at = chunk.indexOf(marker, at + marker.length)) delivered++;
      },
    );
    open.push(connection);
  }
  const writer = await Connection.open(server.port, server.ca);
  await new Promise((resolve) => setTimeout(resolve, 500));
  delivered = 0;
  const before = usageOf(server.pid);
  const began = performance.now();
  let sent = 0;
  while (performance.now() - began < seconds * 1000) {
    if (sent - delivered / watchers > 16) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    await writer.request(requestBytes("POST", maps("fan"), token, configMap(`f${sent++}`)));
  }
  while (delivered < sent * watchers * 0.999 && performance.now() - began < seconds * 3000) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const elapsed = (performance.now() - began) / 1000;
  const after = usageOf(server.pid);
  for (const connection of [...open, writer]) connection.close();
  return {
    name: `watch-fanout-${watchers}`,
    rate: Math.round(delivered / elapsed),
    cpuUsPerOp: Math.round(((after.cpuUs - before.cpuUs) / delivered) * 10) / 10,
    rssMb: Math.round(after.rssMb),
  };
}

/** Every row of the server benchmark, one after the other; `report` gets each as it is there. */
export async function measureServer(
  report: (row: Measurement) => void,
  wanted: (name: string) => boolean,
): Promise<void> {
  const server = await startServer();
  try {
    const run = async (name: string, measure: () => Promise<Measurement>): Promise<void> => {
      if (wanted(name)) report(await measure());
    };
    if (wanted("start")) {
      report({ name: "start", ms: Math.round(server.startMs), rssMb: Math.round(usageOf(server.pid).rssMb) });
    }
    await fill(server, "bench", 500);
    const post = (worker: number, count: number): Buffer =>
      requestBytes(
        "POST",
        maps("bench"),
        token,
        configMap(`c${worker}-${count}-${Math.random().toString(36).slice(2)}`),
      );
    await run("get-64", () =>
      loop(server, "get-64", 64, (_, count) =>
        requestBytes("GET", `${maps("bench")}/m${String(count % 500).padStart(6, "0")}`, token),
      ),
    );
    await run("list-500", () => loop(server, "list-500", 4, () => requestBytes("GET", maps("bench"), token)));
    await run("patch-merge-16", () =>
      loop(server, "patch-merge-16", 16, (worker, count) =>
        requestBytes(
          "PATCH",
          `${maps("bench")}/m${String(worker).padStart(6, "0")}`,
          token,
          `{"data":{"k":"${count}"}}`,
          "application/merge-patch+json",
        ),
      ),
    );
    await run("create-1", () => loop(server, "create-1", 1, post, 40_000));
    await run("create-16", () => loop(server, "create-16", 16, post, 40_000));
    if (wanted("list-5000")) {
      await fill(server, "large", 5000);
      report(await loop(server, "list-5000", 4, () => requestBytes("GET", maps("large"), token)));
    }
    if (wanted("watch-fanout-1000")) {
      await fill(server, "fan", 0);
      report(await fanOut(server, 1000));
    }
    if (wanted("growth-100000")) {
      const began = performance.now();
      for (let i = 0; i < 20; i++) await fill(server, `grow${i}`, 5000);
      report({
        name: "growth-100000",
        rate: Math.round(100_000 / ((performance.now() - began) / 1000)),
        rssMb: Math.round(usageOf(server.pid).rssMb),
      });
    }
  } finally {
    await server.stop();
  }
}
