/** `npm run scale-out -- majority`: how soon servers see that etcd has lost its majority, and that it is back. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";
import { configMaps, readyMs } from "./load.ts";

const usage = `Stops two of three members, and lets them go on, while clients read from memory and watch.

Usage: npm run scale-out -- majority [options]`;

const statusOf = (client: Http2Client, path: string, timeoutMs = 10_000): Promise<number> =>
  client.call(path, { timeoutMs }).then(
    ({ status }) => status,
    () => 0,
  );

async function measure({ cluster, servers }: Stage, count: number): Promise<readonly Figure[]> {
  const noticed: number[] = [];
  const fresh: number[] = [];
  const back: number[] = [];
  let wrong = 0;
  for (let at = 0; at < count; at++) {
    const clients = servers.all.map((server) => new Http2Client(server));
    const stopped = [cluster.members[at % 3]!, cluster.members[(at + 1) % 3]!];
    for (const member of stopped) await member.signal("SIGSTOP");
    const from = performance.now();
    for (const client of clients) {
      // The first answers may come from before.
      while ((await statusOf(client, "/readyz", 1000)) === 200) await sleep(20);
      noticed.push(performance.now() - from);
    }
    for (const client of clients) {
      if ((await statusOf(client, `${configMaps}?resourceVersion=0`)) !== 200) wrong++;
      if (![503, 504].includes(await statusOf(client, configMaps))) wrong++;
    }
    for (const member of stopped) await member.signal("SIGCONT");
    const since = performance.now();
    const readable = clients.map(async (client) => {
      while ((await statusOf(client, configMaps)) !== 200) await sleep(20);
      fresh.push(performance.now() - since);
    });
    await Promise.all(servers.all.map((server) => readyMs(server)));
    await Promise.all(readable);
    back.push(performance.now() - since);
    for (const client of clients) client.close();
    await sleep(3000);
  }
  return [
    { name: "losses of the majority", value: count },
    { name: "wrong answers meanwhile", value: wrong, most: 0 },
    { name: "servers not ready after, at most", value: Math.max(...noticed) / 1000, most: 5, unit: " s" },
    {
      name: "reads of the present answered again after, at most",
      value: Math.max(...fresh) / 1000,
      most: 3,
      unit: " s",
    },
    { name: "servers ready again after, at most", value: Math.max(...back) / 1000, most: 3, unit: " s" },
  ];
}

await runProgram(usage, 3, (count) => onStage({}, (stage) => measure(stage, count)));
