/** `npm run scale-out -- leftovers`: objects that are created on two servers while a third one ends their namespace. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";

const usage = `Deletes namespaces on one server while others create objects in them, and looks for objects that are left.

Usage: npm run scale-out -- leftovers [options]`;

interface List {
  readonly items: readonly { readonly metadata: { readonly namespace: string } }[];
}

/** Creates, fills and deletes one namespace. Returns the number of objects that were created in it. */
async function tryOne(clients: readonly Http2Client[], name: string): Promise<number> {
  const path = `/api/v1/namespaces/${name}`;
  await clients[0]!.call("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } });
  let created = 0;
  let isGone = false;
  const creating = clients.slice(1).map(async (client, of) => {
    for (let at = 0; !isGone; at++) {
      const body = { metadata: { name: `c-${of}-${at}` } };
      const { status } = await client.call(`${path}/configmaps`, { method: "POST", body });
      if (status === 201) created++;
      else await sleep(5);
    }
  });
  await sleep(100);
  await clients[0]!.call(path, { method: "DELETE" });
  while ((await clients[0]!.call(path)).status !== 404) await sleep(10);
  isGone = true;
  await Promise.all(creating);
  return created;
}

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  let next = 0;
  let created = 0;
  const worker = async (): Promise<void> => {
    const clients = servers.all.map((server) => new Http2Client(server));
    while (next < count) created += await tryOne(clients, `n-${next++}`);
    for (const client of clients) client.close();
  };
  await Promise.all([worker(), worker(), worker()]);
  const client = new Http2Client(servers.all[0]!);
  let left = 0;
  for (const resource of ["configmaps", "serviceaccounts"]) {
    const { text } = await client.call(`/api/v1/${resource}`);
    left += (JSON.parse(text) as List).items.filter(({ metadata }) => metadata.namespace.startsWith("n-")).length;
  }
  client.close();
  return [
    { name: "namespaces", value: count },
    { name: "objects created in them", value: created },
    { name: "objects left in namespaces that are gone", value: left, most: 0 },
  ];
}

await runProgram(usage, 1000, (count) => onStage({}, (stage) => measure(stage, count)));
