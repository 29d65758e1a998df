/** `npm run scale-out -- herd`: the restart of a server that many watches go on with. */
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { configMaps, readyMs, SteadyWriter, sumOf } from "./load.ts";

const usage = `Restarts a server under many watches, which go on with their versions, and counts the lists that reach etcd.

Usage: npm run scale-out -- herd [options]`;

/** A watch that goes on after an end, as informers do. */
class Informer {
  events = 0;
  relists = 0;
  streams = 0;
  #version = "";
  readonly #client: Http2Client;
  readonly #stop: AbortSignal;

  constructor(client: Http2Client, stop: AbortSignal) {
    this.#client = client;
    this.#stop = stop;
    void this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stop.aborted) {
      try {
        if (this.#version === "") await this.#list();
        await this.#watch();
      } catch {
        await sleep(100);
      }
    }
  }

  async #list(): Promise<void> {
    const { text } = await this.#client.call(`${configMaps}?resourceVersion=0`);
    this.#version = (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
    this.relists++;
  }

  async #watch(): Promise<void> {
    const stream = this.#client.open(
      `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}`,
    );
    let rest = "";
    stream.setEncoding("utf8");
    this.streams++;
    for await (const piece of stream as AsyncIterable<string>) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as {
          type: string;
          object: { metadata: { resourceVersion: string } };
        };
        if (type === "ERROR") {
          this.#version = "";
          return;
        }
        this.events++;
        this.#version = object.metadata.resourceVersion;
      }
    }
  }
}

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  const [first, second] = servers.all as [(typeof servers.all)[0], (typeof servers.all)[0]];
  const stop = new AbortController();
  const clients = Array.from({ length: Math.ceil(count / 50) }, () => new Http2Client(first));
  const informers = Array.from({ length: count }, (_, at) => new Informer(clients[at % clients.length]!, stop.signal));
  const writer = new SteadyWriter(second, "herd", 100);
  const other = new Http2Client(second);
  const slowest = async (ms: number): Promise<number> => {
    const tookMs: number[] = [];
    for (const end = performance.now() + ms; performance.now() < end; ) {
      const begin = performance.now();
      await other.call(`${configMaps}/herd`);
      tookMs.push(performance.now() - begin);
      await sleep(5);
    }
    return quantile(tookMs, 0.99);
  };
  await sleep(5000);
  const before = await slowest(5000);
  const lists = informers.reduce((sum, { relists }) => sum + relists, 0);
  const heard = informers.map(({ events }) => events);
  await first.signal("SIGTERM");
  const restarted = first.start().then(() => readyMs(first));
  const during = await slowest(8000);
  await restarted;
  await sleep(3000);
  const { text } = await other.call("/metrics");
  const own = new Http2Client(first);
  const metrics = (await own.call("/metrics")).text;
  const silent = informers.filter(({ events }, at) => events === heard[at]).length;
  stop.abort();
  await writer.stop();
  for (const client of [...clients, other, own]) client.close();
  return [
    { name: "watches", value: count },
    { name: "watches that stood still after the restart", value: silent, most: 0 },
    {
      name: "lists of clients after the restart",
      value: informers.reduce((sum, { relists }) => sum + relists, -lists),
      most: 0,
    },
    {
      name: "lists that reached etcd from the restarted server, its own load included",
      value: sumOf(metrics, 'etcd_requests_total{operation="list"'),
      most: 1,
    },
    {
      name: "lists that reached etcd from another server since its start",
      value: sumOf(text, 'etcd_requests_total{operation="list"'),
      most: 1,
    },
    { name: "99 % of reads of another server take, before", value: before, unit: " ms" },
    {
      name: "99 % of reads of another server take, during",
      value: during,
      unit: " ms",
      most: Math.max(2 * before, 10),
    },
  ];
}

await runProgram(usage, 200, (count) => onStage({}, (stage) => measure(stage, count)));
