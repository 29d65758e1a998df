/** `npm run scale-out -- backlog`: a server that was cut from etcd for minutes, and comes back. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { configMaps, SteadyWriter } from "./load.ts";

const usage = `Cuts a server from etcd for some seconds while the others write 500 times a second, and lets it come back.

Usage: npm run scale-out -- backlog [options]`;

/** Returns the last version that a server has in memory. */
async function heard(client: Http2Client): Promise<number> {
  const { text } = await client.call(`${configMaps}?resourceVersion=0&limit=1`);
  return Number((JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}

async function measure({ servers, relay }: Stage, seconds: number): Promise<readonly Figure[]> {
  const [first, second, cut] = servers.all as [
    (typeof servers.all)[0],
    (typeof servers.all)[0],
    (typeof servers.all)[0],
  ];
  // Twenty clients with a write each 40 ms.
  const writers = Array.from({ length: 20 }, (_, at) => new SteadyWriter(at % 2 === 0 ? first : second, `b-${at}`, 35));
  const [there, here] = [new Http2Client(cut), new Http2Client(first)];
  await sleep(5000);
  for (const to of ["m0", "m1", "m2"]) {
    relay!.set(cut.name, to, "hold");
    relay!.set(to, cut.name, "hold");
  }
  await sleep(1000);
  const from = performance.now();
  const versionBefore = await heard(here);
  await sleep(seconds * 1000);
  const missed = (await heard(here)) - versionBefore;
  const written = writers.reduce((sum, one) => sum + one.written.filter(({ at }) => at > from).length, 0);
  const rate = written / ((performance.now() - from) / 1000);
  relay!.passAll();
  const back = performance.now();
  const goal = await heard(here);
  while ((await heard(there).catch(() => 0)) < goal) await sleep(20);
  const caughtUp = performance.now();
  await sleep(5000);
  const since = (begin: number, end: number): number[] =>
    writers.flatMap((one) => one.written.filter(({ at }) => at > begin && at < end).map(({ tookMs }) => tookMs));
  const [before, after] = [since(from, back), since(back, caughtUp + 5000)];
  for (const writer of writers) await writer.stop();
  there.close();
  here.close();
  return [
    { name: "revisions missed", value: missed },
    { name: "writes a second meanwhile", value: rate },
    { name: "caught up after", value: (caughtUp - back) / 1000, most: 60, unit: " s" },
    { name: "99 % of writes take during the cut", value: quantile(before, 0.99), unit: " ms" },
    { name: "99 % of writes take after it", value: quantile(after, 0.99), most: 200, unit: " ms" },
  ];
}

await runProgram(usage, 300, (seconds) => onStage({ hasRelay: true }, (stage) => measure(stage, seconds)));
