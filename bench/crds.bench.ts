/**
 * Custom resources: what 500 definitions of 30 KB cost in memory, at start and when one of them changes; how soon the
 * first object of a new kind is there; creating objects of 30 fields. Needs a build:
 * `node --conditions=source bench/crds.bench.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection, requestBytes } from "./connection.ts";
import { usageOf } from "./process-usage.ts";
import { benchToken as token, type Server, startServer } from "./server-process.ts";
import { loop } from "./server.bench.ts";

const crds = "/apis/apiextensions.platform.io/v1/customresourcedefinitions";
const definitionCount = 500;

type Json = Readonly<Record<string, unknown>>;

/** A schema of about 30 KB in the manner of real ones: nested, described, with defaults and limits. */
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

function definition(group: string, schema: Json, shortNames?: readonly string[]): string {
  return JSON.stringify({
    apiVersion: "apiextensions.platform.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      names: { plural: "widgets", kind: "Widget", ...(shortNames === undefined ? {} : { shortNames }) },
      scope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
      ],
    },
  });
}

/** 30 fields in spec, as objects of the workload of the same name have them. */
const thirtyFields: Json = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["image"],
      properties: Object.fromEntries([
        ["image", { type: "string", minLength: 1 }],
        ["replicas", { type: "integer", minimum: 0, maximum: 100, default: 1 }],
        ...Array.from({ length: 28 }, (_, i) => [
          `field${i}`,
          i % 2 === 0 ? { type: "string", maxLength: 100 } : { type: "integer", minimum: 0 },
        ]),
      ]) as Json,
    },
  },
};

const widget = (group: string, name: string): string =>
  JSON.stringify({
    apiVersion: `${group}/v1`,
    kind: "Widget",
    metadata: { name },
    spec: {
      image: "registry.example.com/shop/cart:1.4.2",
      replicas: 3,
      ...Object.fromEntries(Array.from({ length: 28 }, (_, i) => [`field${i}`, i % 2 === 0 ? `text ${i}` : i])),
    },
  });

const widgets = (group: string): string => `/apis/${group}/v1/namespaces/default/widgets`;

async function send(
  connection: Connection,
  method: string,
  path: string,
  body?: string,
  type?: string,
): Promise<string> {
  const bytes = body === undefined ? requestBytes(method, path, token) : requestBytes(method, path, token, body, type);
  const answer = await connection.request(bytes);
  const text = answer.body.toString();
  if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${text.slice(0, 300)}`);
  return text;
}

const report = (name: string, text: string): void => console.log(`${name.padEnd(24)}${text}`);
const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function measureCreates(server: Server): Promise<void> {
  const connection = await Connection.open(server.port, server.ca);
  const group = "thirty.example.com";
  await send(connection, "POST", crds, definition(group, thirtyFields));
  connection.close();
  for (const connections of [1, 16]) {
    const row = await loop(
      server,
      "create-cr",
      connections,
      (worker, count) =>
        requestBytes(
          "POST",
          widgets(group),
          token,
          widget(group, `w${connections}-${worker}-${count}-${process.hrtime()[1]}`),
        ),
      40_000,
    );
    report(`create-cr-${connections}`, `${row.rate}/s, ${row.cpuUsPerOp} us of CPU each`);
  }
}

async function measureReady(connection: Connection): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const group = `ready${i}.example.com`;
    const began = performance.now();
    await send(connection, "POST", crds, definition(group, thirtyFields));
    await send(connection, "POST", widgets(group), widget(group, "first"));
    times.push(performance.now() - began);
  }
  report("crd-ready", `median ${ms(median(times))}, longest ${ms(Math.max(...times))}`);
}

async function measureMany(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-bench-"));
  const schema = largeSchema();
  try {
    let server = await startServer(folder);
    report("start, none", `${ms(server.startMs)}, ${usageOf(server.pid).rssMb.toFixed(0)} MB`);
    let connection = await Connection.open(server.port, server.ca);
    const before = usageOf(server.pid);
    const began = performance.now();
    for (let i = 0; i < definitionCount; i++) {
      await send(connection, "POST", crds, definition(`group${i}.example.com`, schema));
    }
    const each = (performance.now() - began) / definitionCount;
    const grown = (usageOf(server.pid).rssMb - before.rssMb) / definitionCount;
    const size = (JSON.stringify(schema).length / 1024).toFixed(0);
    report(`${definitionCount} of ${size} KB`, `${ms(each)} each, ${grown.toFixed(2)} MB each`);
    await measureChanges(connection, schema);
    connection.close();
    await server.stop();

    const empty = before.rssMb;
    server = await startServer(folder);
    const rss = usageOf(server.pid).rssMb;
    report("start again", `${ms(server.startMs)}, ${((rss - empty) / definitionCount).toFixed(2)} MB each`);
    connection = await Connection.open(server.port, server.ca);
    await measureChanges(connection, schema);
    for (let i = 0; i < definitionCount; i++) {
      const group = `group${i}.example.com`;
      const object = `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"section0":{}}}`;
      await send(connection, "POST", widgets(group), object);
    }
    const used = (usageOf(server.pid).rssMb - empty) / definitionCount;
    report("each with an object", `${used.toFixed(2)} MB each`);
    connection.close();
    await server.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From a change of one definition until it is in force, with all the others there. */
async function measureChanges(connection: Connection, schema: Json): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const path = `${crds}/widgets.group${i}.example.com`;
    const added = {
      type: "object",
      properties: { ...(schema["properties"] as Json), [`added${Date.now()}`]: { type: "string" } },
    };
    const patch = [{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema", value: added }];
    const began = performance.now();
    await send(connection, "PATCH", path, JSON.stringify(patch), "application/json-patch+json");
    await send(connection, "GET", `/apis/group${i}.example.com/v1`);
    times.push(performance.now() - began);
  }
  report("change of one", `median ${ms(median(times))}, longest ${ms(Math.max(...times))}`);
}

const server = await startServer();
const connection = await Connection.open(server.port, server.ca);
await measureReady(connection);
connection.close();
await measureCreates(server);
await server.stop();
await measureMany();
