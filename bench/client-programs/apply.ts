/**
 * Applies a ConfigMap of 1 KB again and again, with a new value each time, by several loops at once. Prints the rate, and the
 * CPU time and memory of this process.
 */
import { connect } from "#client/exports.ts";
import { ConfigMap } from "#client/kinds.ts";

const [kubeconfig, namespace, loops, seconds] = process.argv.slice(2);
const cluster = await connect({ kubeconfig: kubeconfig!, manager: "bench" });
const maps = cluster.kind(ConfigMap).in(namespace!);
const filler = "x".repeat(880);
/** The first second, in which code is compiled, does not count. */
const warmupMs = 1000;

let count = 0;
let endMs = performance.now() + warmupMs;

async function loop(name: string): Promise<void> {
  while (performance.now() < endMs) {
    await maps.apply({ metadata: { name }, data: { filler, count: String(count++) } });
  }
}

const runLoops = (): Promise<unknown> => Promise.all(Array.from({ length: Number(loops) }, (_, at) => loop(`m${at}`)));

await runLoops();
count = 0;
const before = process.cpuUsage();
const startMs = performance.now();
endMs = startMs + Number(seconds) * 1000;
await runLoops();
const rate = (count * 1000) / (performance.now() - startMs);
const { user, system } = process.cpuUsage(before);
const rssMb = process.memoryUsage.rss() / 1024 / 1024;
console.log(JSON.stringify({ rate, cpuUsPerOp: (user + system) / count, rssMb }));
await cluster.close();
