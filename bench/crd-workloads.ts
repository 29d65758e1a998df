/**
 * Workloads of custom resources: creates of objects with 30 fields, and the delay until a new kind accepts its first
 * object. The definition has `x-kubernetes-validations` only if the name of the workload says so.
 */
import { createLoop } from "./closed-loop.ts";
import { usageOf } from "./process-usage.ts";
import { type Measurement, median, type PreparedWorkload, type Workload } from "./suite.ts";
import { Client, dropNamespace, makeNamespace, type Target, uniqueSuffix } from "./target.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Creates of a custom resource with 30 fields, over one connection or several, without rules and with three. */
export const createWorkloads: readonly Workload[] = [false, true].flatMap((isRuled) =>
  [1, 16].map((connections) => {
    const name = `create-cr-${isRuled ? "rules-" : ""}${connections}`;
    return { name, prepare: (target) => prepareCreates(target, { name, connections, isRuled }) };
  }),
);

/**
 * Measures the time from POST of a definition until its first object is created. The create is repeated until the
 * server is ready.
 */
export const readyWorkload: Workload = { name: "crd-ready", prepare: prepareReady };

/** Returns the path of definitions. */
export const definitionsPath = (domain: string): string => `/apis/apiextensions.${domain}/v1/customresourcedefinitions`;

/** Returns a definition of the kind Widget in `group`. */
export function definition(domain: string, group: string, schema: Json): string {
  return JSON.stringify({
    apiVersion: `apiextensions.${domain}/v1`,
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
      ],
    },
  });
}

const text = (more: Json = {}): Json => ({ type: "string", ...more });
const integer = (more: Json = {}): Json => ({ type: "integer", format: "int32", ...more });
const short = text({ maxLength: 63 });

/**
 * A schema of 30 fields: limits, a pattern, enums, formats, defaults, lists that are sets and maps, and nested objects.
 */
const thirtyFields: Json = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["title", "image", "replicas", "endpoints"],
      properties: {
        title: text({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9-]+$" }),
        summary: text({ maxLength: 512 }),
        image: text({ maxLength: 256 }),
        pull: text({ enum: ["Always", "Missing", "Never"], default: "Missing" }),
        tier: text({ maxLength: 16, default: "back" }),
        owner: short,
        since: text({ format: "date-time" }),
        replicas: integer({ minimum: 0, maximum: 1000 }),
        replicasMin: integer({ minimum: 0, default: 1 }),
        replicasMax: integer({ minimum: 0, default: 10 }),
        priority: integer(),
        timeoutSeconds: integer({ minimum: 1, default: 30 }),
        weight: { type: "number" },
        paused: { type: "boolean", default: false },
        public: { type: "boolean" },
        surge: { "x-kubernetes-int-or-string": true },
        zones: { type: "array", maxItems: 16, "x-kubernetes-list-type": "set", items: text({ maxLength: 32 }) },
        args: { type: "array", maxItems: 32, items: text({ maxLength: 256 }) },
        settings: { type: "object", maxProperties: 32, additionalProperties: text({ maxLength: 256 }) },
        endpoints: {
          type: "array",
          maxItems: 16,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name", "port"],
            properties: {
              name: short,
              port: integer({ minimum: 1, maximum: 65535 }),
              protocol: text({ enum: ["TCP", "UDP"], default: "TCP" }),
            },
          },
        },
        storage: { type: "object", properties: { size: text({ maxLength: 32 }), class: short } },
        window: {
          type: "object",
          properties: { start: integer({ minimum: 0, maximum: 23 }), end: integer({ minimum: 0, maximum: 23 }) },
        },
      },
    },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

const rules = (...texts: readonly string[]): Json => ({
  "x-kubernetes-validations": texts.map((rule) => ({ rule, message: `does not hold: ${rule}` })),
});

/** Returns the same schema with three rules. */
function fieldsWithRules(): Json {
  const { spec } = thirtyFields["properties"] as { readonly spec: Json }; // this file has made the schema
  const { window } = spec["properties"] as { readonly window: Json }; // as above
  const properties = {
    ...(spec["properties"] as Json), // as above
    window: { ...window, ...rules("self.start < self.end") },
  };
  const ofSpec = rules(
    "self.replicas <= self.replicasMax",
    "self.endpoints.all(e, e.port > 1024 || e.name.startsWith('secure-'))",
  );
  return {
    ...thirtyFields,
    properties: { ...(thirtyFields["properties"] as Json), spec: { ...spec, properties, ...ofSpec } },
  };
}

/** Returns an object of this kind, of 1.1 KB. Some of its fields get their defaults. */
function widget(group: string, name: string): string {
  return `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"${name}","labels":{"app":"bench"}},"spec":${widgetSpec}}`;
}

const widgetSpec = JSON.stringify({
  title: "widget-one",
  summary: "A small thing that answers when it is asked, as often as anybody likes to ask. ".repeat(4).trim(),
  image: "registry.example.com/widget:1.2.3",
  owner: "team-a",
  since: "2024-05-06T07:08:09Z",
  replicas: 3,
  replicasMax: 8,
  priority: 7,
  weight: 0.75,
  public: true,
  surge: "25%",
  zones: ["a", "b", "c"],
  args: ["--listen=:8080", "--log-level=info", "--verbose"],
  settings: { alpha: "one", beta: "two", gamma: "three" },
  endpoints: [
    { name: "http", port: 8080, protocol: "TCP" },
    { name: "metrics", port: 9090 },
    { name: "dns", port: 5353, protocol: "UDP" },
  ],
  storage: { size: "10Gi", class: "fast" },
  window: { start: 2, end: 5 },
});

const widgets = (group: string, namespace: string): string => `/apis/${group}/v1/namespaces/${namespace}/widgets`;

const createsMax = 40_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Creates {
  readonly name: string;
  readonly connections: number;
  readonly isRuled: boolean;
}

async function prepareCreates(target: Target, { name, connections, isRuled }: Creates): Promise<PreparedWorkload> {
  const group = `create-${uniqueSuffix()}.example.com`;
  const namespace = await makeNamespace(target, "create");
  const path = widgets(group, namespace);
  const client = await Client.open(target);
  const schema = isRuled ? fieldsWithRules() : thirtyFields;
  await client.send("POST", definitionsPath(target.domain), definition(target.domain, group, schema));
  await untilCreated(client, path, widget(group, "first"));
  await checkEnforced(client, path, group, isRuled);
  client.close();
  return {
    measure: (seconds) =>
      createLoop(target, {
        name,
        connections,
        seconds,
        operationsMax: createsMax,
        path,
        object: (object) => widget(group, object),
      }),
    async clean() {
      await dropDefinition(target, group);
      await dropNamespace(target, namespace);
    },
  };
}

/**
 * Checks that the schema is in force, since the figures are worthless otherwise: a wrong type is refused, and a default
 * is filled in.
 */
async function checkEnforced(client: Client, path: string, group: string, isRuled: boolean): Promise<void> {
  for (const [given, wrong] of isRuled ? brokenRules : []) {
    const { code } = await client.ask("POST", path, widget(group, "bad").replace(given, wrong));
    if (code !== 422) throw new Error(`${wrong} was answered with ${code}`);
  }
  const bad = widget(group, "bad").replace('"replicas":3', '"replicas":"3"');
  const { code } = await client.ask("POST", path, bad);
  if (code !== 422) throw new Error(`a string as replicas was answered with ${code}`);
  const first = await client.send("GET", `${path}/first`);
  if (!first.includes('"timeoutSeconds":30')) throw new Error("the default of timeoutSeconds is not there");
}

/** Changes of an object, each of which breaks a rule. */
const brokenRules = [
  ['"replicas":3', '"replicas":9'],
  ['"port":8080', '"port":80'],
  ['"start":2', '"start":7'],
] as const;

/** The pause between two attempts, and the time after which there are no more, in milliseconds. */
const retryMs = 5;
const giveUpMs = 20_000;

async function untilCreated(client: Client, path: string, body: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const { code, text: answer } = await client.ask("POST", path, body);
    if (code === 201) return;
    if (performance.now() - began > giveUpMs) throw new Error(`POST ${path}: ${code} ${answer.slice(0, 300)}`);
    await pause(retryMs);
  }
}

async function dropDefinition(target: Target, group: string): Promise<void> {
  const client = await Client.open(target);
  await client.send("DELETE", `${definitionsPath(target.domain)}/widgets.${group}`);
  client.close();
}

const readyMin = 3;
const readyMax = 20;
/** The time for work after the answer, such as publishing the schema, whose CPU time counts too. */
const settleMs = 300;

async function prepareReady(target: Target): Promise<PreparedWorkload> {
  const namespace = await makeNamespace(target, "ready");
  return {
    measure: (seconds) => measureReady(target, namespace, seconds),
    clean: () => dropNamespace(target, namespace),
  };
}

async function measureReady(target: Target, namespace: string, seconds: number): Promise<Measurement> {
  const client = await Client.open(target);
  const path = definitionsPath(target.domain);
  const times: number[] = [];
  let cpuUs = 0;
  let clientUs = 0;
  const began = performance.now();
  while (times.length < readyMin || (times.length < readyMax && performance.now() - began < seconds * 1000)) {
    const group = `ready-${uniqueSuffix()}.example.com`;
    const before = usageOf(target.pid).cpuUs;
    const ownBefore = process.cpuUsage();
    const start = performance.now();
    await client.send("POST", path, definition(target.domain, group, thirtyFields));
    await untilCreated(client, widgets(group, namespace), widget(group, "first"));
    times.push(performance.now() - start);
    const own = process.cpuUsage(ownBefore);
    clientUs += own.user + own.system;
    await pause(settleMs);
    cpuUs += usageOf(target.pid).cpuUs - before;
    await client.send("DELETE", `${path}/widgets.${group}`);
  }
  client.close();
  return {
    name: readyWorkload.name,
    rate: 1000 / median(times),
    cpuUsPerOp: cpuUs / times.length,
    clientUsPerOp: clientUs / times.length,
    ms: median(times),
    longestMs: Math.max(...times),
  };
}
