/**
 * Custom resources: the delay until the first object of a new kind, creates of objects with 30 fields, and the cost of
 * 500 definitions of 30 KB in memory and updates. To run it alone, after a build: `node --conditions=source
 * bench/crds.bench.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWorkloads, definition, definitionsPath, type Json, readyWorkload } from "./crd-workloads.ts";
import { usageOf } from "./process-usage.ts";
import { runAlone } from "./report.ts";
import { type Server, startServer } from "./server-process.ts";
import { type Measurement, measureWorkloads, median, type Run, type Suite } from "./suite.ts";
import { Client } from "./target.ts";

const workloads = [readyWorkload, ...createWorkloads];

const manyRows = {
  "crd-of-500": "creating one of 500 definitions of 30 KB; memory of each",
  "crd-of-500-change": "changing the schema of one of them, until the new one is in force",
  "crd-of-500-start": "start of a server that has them; memory of each",
  "crd-of-500-change-restarted": "the change after that start",
  "crd-of-500-used": "creating the first object of one; memory of each once it has one",
} as const;

export const crdsSuite: Suite = {
  name: "crds",
  about: "custom resources, through the whole server",
  rows: {
    "crd-ready": "from POST of a definition until its first object is created",
    "create-cr-1": "POST of an object of 30 fields, 1.1 KB, 1 connection",
    "create-cr-16": "the same over 16 connections",
    "create-cr-rules-1": "the same with 3 CEL rules, 1 connection",
    "create-cr-rules-16": "the same over 16 connections",
    ...manyRows,
  },
  workloads,
  measure,
};

const definitionCount = 500;

async function measure(run: Run): Promise<void> {
  if (workloads.some(({ name }) => run.isWanted(name))) {
    const server = await startServer();
    try {
      await measureWorkloads(run, server, workloads);
    } finally {
      await server.stop();
    }
  }
  if (Object.keys(manyRows).some((name) => run.isWanted(name))) await measureMany(run);
}

/** Returns a schema of about 30 KB that resembles real ones: nested, described, with defaults and limits. */
function largeSchema(): Json {
  const leaf = (at: number): Json =>
    at % 3 === 0
      ? { type: "integer", minimum: 0, default: at, description: `The number of things in place ${at}, counted.` }
      : { type: "string", maxLength: 253, description: `What is said about place ${at}; see the handbook.` };
  const section = (at: number): Json => ({
    type: "object",
    description: `Section ${at} of what is wanted.`,
    properties: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`field${i}`, leaf(i)])),
  });
  const properties = Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`section${i}`, section(i)]));
  return { type: "object", properties: { spec: { type: "object", properties } } };
}

const groupOf = (at: number): string => `group${at}.example.com`;

/**
 * Measures the rows about many definitions. Each builds on the one before, so rows that are not wanted run too, but are
 * not reported.
 */
async function measureMany(run: Run): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-bench-"));
  const schema = largeSchema();
  let server = await startServer(folder);
  try {
    const emptyMb = usageOf(server.pid).rssMb;
    const row = async (
      name: keyof typeof manyRows,
      figures: () => Promise<Omit<Measurement, "name">>,
    ): Promise<void> => {
      if (run.isWanted(name)) await run.row(name, async () => ({ name, ...(await figures()) }));
      else await figures();
    };
    const growthMb = (): number => (usageOf(server.pid).rssMb - emptyMb) / definitionCount;
    await row("crd-of-500", async () => {
      const figures = await timeEach(server, definitionCount, (client, at) =>
        client.send("POST", definitionsPath(server.domain), definition(server.domain, groupOf(at), schema)),
      );
      return { ...figures, rssMb: growthMb() };
    });
    if (run.isWanted("crd-of-500-change")) await row("crd-of-500-change", () => timeChanges(server, schema));
    await server.stop();
    await row("crd-of-500-start", async () => {
      server = await startServer(folder);
      return { ms: server.startMs, rssMb: growthMb() };
    });
    if (run.isWanted("crd-of-500-change-restarted")) {
      await row("crd-of-500-change-restarted", () => timeChanges(server, schema));
    }
    await row("crd-of-500-used", async () => {
      const figures = await timeEach(server, definitionCount, (client, at) => {
        const object = `{"apiVersion":"${groupOf(at)}/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"section0":{}}}`;
        return client.send("POST", `/apis/${groupOf(at)}/v1/namespaces/default/widgets`, object);
      });
      return { ...figures, rssMb: growthMb() };
    });
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures the time from a change of one definition until it is in force, while all the others exist. */
function timeChanges(server: Server, schema: Json): Promise<Omit<Measurement, "name">> {
  return timeEach(server, 20, async (client, at) => {
    const added = {
      type: "object",
      properties: { ...(schema["properties"] as Json), [`added${Date.now()}`]: { type: "string" } }, // made above
    };
    const patch = [{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema", value: added }];
    const path = `${definitionsPath(server.domain)}/widgets.${groupOf(at)}`;
    await client.send("PATCH", path, JSON.stringify(patch), "application/json-patch+json");
    await client.send("GET", `/apis/${groupOf(at)}/v1`);
  });
}

async function timeEach(
  server: Server,
  count: number,
  act: (client: Client, at: number) => Promise<unknown>,
): Promise<Omit<Measurement, "name">> {
  const client = await Client.open(server);
  const times: number[] = [];
  const before = usageOf(server.pid);
  for (let at = 0; at < count; at++) {
    const began = performance.now();
    await act(client, at);
    times.push(performance.now() - began);
  }
  const after = usageOf(server.pid);
  client.close();
  return { cpuUsPerOp: (after.cpuUs - before.cpuUs) / count, ms: median(times), longestMs: Math.max(...times) };
}

if (import.meta.main) await runAlone(crdsSuite);
