/** `npm run scale-out -- shared-reads`: the questions that etcd gets for many reads at the same time. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { configMaps, sumOf } from "./load.ts";

const usage = `Sends many reads of the present to one server at the same time, and counts the reads that reach etcd.

Usage: npm run scale-out -- shared-reads [options]`;

async function measure({ cluster, servers }: Stage, count: number): Promise<readonly Figure[]> {
  // A connection takes a hundred streams.
  const clients = Array.from({ length: Math.ceil(count / 100) }, () => new Http2Client(servers.all[0]!));
  const ranges = async (): Promise<number> => {
    const texts = await Promise.all(cluster.members.map(({ health }) => fetch(`${health}/metrics`)));
    let sum = 0;
    for (const text of texts) sum += sumOf(await text.text(), 'grpc_server_started_total{grpc_method="Range"');
    return sum;
  };
  await clients[0]!.call(configMaps, { method: "POST", body: { metadata: { name: "read" } } });
  for (const client of clients) await client.call("/version");
  const asked: number[] = [];
  let failed = 0;
  for (let round = 0; round < 10; round++) {
    await sleep(300);
    const before = await ranges();
    const reads = Array.from({ length: count }, (_, at) => clients[at % clients.length]!.call(`${configMaps}/read`));
    failed += (await Promise.all(reads)).filter(({ status }) => status !== 200).length;
    asked.push((await ranges()) - before);
  }
  for (const client of clients) client.close();
  return [
    { name: "reads at the same time", value: count },
    { name: "failed reads", value: failed, most: 0 },
    { name: "requests to etcd, half of ten times", value: quantile(asked, 0.5), most: 50 },
    { name: "requests to etcd, most of ten times", value: Math.max(...asked), most: 50 },
  ];
}

await runProgram(usage, 1000, (count) => onStage({}, (stage) => measure(stage, count)));
