/** `npm run scale-out -- doubles`: addresses, ports and names that two objects could get. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";

const usage = `Creates Services on three servers at the same time, some with the same address or port, and definitions with the same
names.

Usage: npm run scale-out -- doubles [options]`;

const services = "/api/v1/namespaces/default/services";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface Service {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly clusterIP?: string; readonly ports?: readonly { readonly nodePort?: number }[] };
}

/** The Services that live, by what they have. */
class Given {
  readonly #owners = new Map<string, string>();
  doubles = 0;

  add({ metadata: { name }, spec }: Service): void {
    for (const thing of thingsOf(spec)) {
      if (this.#owners.has(thing)) this.doubles++;
      this.#owners.set(thing, name);
    }
  }

  remove({ metadata: { name }, spec }: Service): void {
    for (const thing of thingsOf(spec)) if (this.#owners.get(thing) === name) this.#owners.delete(thing);
  }
}

const thingsOf = ({ clusterIP = "", ports = [] }: Service["spec"]): string[] => [
  clusterIP,
  ...ports.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [String(nodePort)])),
];

/** One try: three servers at the same time. Every second one asks for a certain address and port. */
async function tryServices(clients: readonly Http2Client[], at: number, given: Given): Promise<void> {
  const wanted =
    at % 2 === 0 ? {} : { clusterIP: `10.96.${1 + ((at >> 8) % 200)}.${at % 250}`, nodePort: 31_000 + (at % 1000) };
  const made = await Promise.all(
    clients.map(async (client, of) => {
      const { nodePort, ...address } = wanted;
      const port = { port: 80, ...(nodePort === undefined ? {} : { nodePort }) };
      const body = { metadata: { name: `d-${at}-${of}` }, spec: { type: "NodePort", ...address, ports: [port] } };
      const { status, text } = await client.call(services, { method: "POST", body, timeoutMs: 30_000 });
      return status === 201 ? (JSON.parse(text) as Service) : undefined;
    }),
  );
  const living = made.filter((service) => service !== undefined);
  for (const service of living) given.add(service);
  // A few stay for as long as the next tries, so that tries meet.
  await sleep(1);
  for (const service of living) {
    // Others may get it from the moment of its deletion on.
    given.remove(service);
    await clients[at % 3]!.call(`${services}/${service.metadata.name}`, { method: "DELETE" });
  }
}

/** Creates three definitions of one kind. Returns how many more than one have the name. */
async function tryNames(clients: readonly Http2Client[], at: number): Promise<number> {
  const group = `g${at}.example.com`;
  const schema = { openAPIV3Schema: { type: "object" } };
  const paths = await Promise.all(
    clients.map(async (client, of) => {
      const plural = `things${of}`;
      const names = { plural, singular: `thing${of}`, kind: "Thing", listKind: `Thing${of}List` };
      const versions = [{ name: "v1", served: true, storage: true, schema }];
      const body = { metadata: { name: `${plural}.${group}` }, spec: { group, scope: "Cluster", names, versions } };
      await client.call(definitions, { method: "POST", body });
      return `${definitions}/${plural}.${group}`;
    }),
  );
  let accepted = 0;
  for (const path of paths) {
    for (;;) {
      const { text } = await clients[0]!.call(path);
      const { status = {} } = JSON.parse(text) as { status?: { conditions?: { type: string; status: string }[] } };
      const condition = status.conditions?.find(({ type }) => type === "NamesAccepted");
      if (condition?.status === "True") accepted++;
      if (condition !== undefined) break;
      await sleep(20);
    }
  }
  for (const path of paths) await clients[0]!.call(path, { method: "DELETE" });
  return Math.max(0, accepted - 1);
}

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  const given = new Given();
  let next = 0;
  let names = 0;
  const definitionTries = Math.ceil(count / 50);
  const worker = async (): Promise<void> => {
    const clients = servers.all.map((server) => new Http2Client(server));
    while (next < count) {
      const at = next++;
      await tryServices(clients, at, given);
      if (at % 50 === 0) names += await tryNames(clients, at);
    }
    for (const client of clients) client.close();
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return [
    { name: "tries with three Services", value: count },
    { name: "addresses and ports given twice", value: given.doubles, most: 0 },
    { name: "tries with three definitions", value: definitionTries },
    { name: "names given twice", value: names, most: 0 },
  ];
}

const flags = ["--service-cluster-ip-range=10.96.0.0/16"];
await runProgram(usage, 10_000, (count) => onStage({ flags }, (stage) => measure(stage, count)));
