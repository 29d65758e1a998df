/** `npm run scale-out -- stale`: reads of one server right after writes to another. */
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { configMaps } from "./load.ts";

const usage = `Writes to one server, and reads at once from another, with eight clients side by side.

Usage: npm run scale-out -- stale [options]`;

interface Body {
  readonly metadata: { readonly resourceVersion: string };
}

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  let stale = 0;
  let failed = 0;
  let left = count;
  const tookMs: number[] = [];
  const worker = async (id: number): Promise<void> => {
    const clients = servers.all.map((server) => new Http2Client(server));
    const path = `${configMaps}/stale-${id}`;
    await clients[0]!.call(configMaps, { method: "POST", body: { metadata: { name: `stale-${id}` } } });
    for (let at = 0; left > 0; at++) {
      left--;
      const [writer, reader] = [clients[at % 3]!, clients[(at + 1 + (id % 2)) % 3]!];
      const type = "application/merge-patch+json";
      const written = await writer.call(path, { method: "PATCH", type, body: { data: { at: String(at) } } });
      const begin = performance.now();
      // A read of one object, and a list.
      const read = await reader.call(at % 10 === 0 ? configMaps : path);
      tookMs.push(performance.now() - begin);
      if (written.status !== 200 || read.status !== 200) failed++;
      else if (versionOf(read.text) < versionOf(written.text)) stale++;
    }
    for (const client of clients) client.close();
  };
  await Promise.all(Array.from({ length: 8 }, (_, id) => worker(id)));
  return [
    { name: "pairs", value: count },
    { name: "stale reads", value: stale, most: 0 },
    { name: "failed calls", value: failed, most: 0 },
    { name: "read, half take", value: quantile(tookMs, 0.5), unit: " ms" },
    { name: "read, 99 % take", value: quantile(tookMs, 0.99), unit: " ms" },
  ];
}

const versionOf = (text: string): number => Number((JSON.parse(text) as Body).metadata.resourceVersion);

await runProgram(usage, 100_000, (count) => onStage({}, (stage) => measure(stage, count)));
