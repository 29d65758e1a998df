/** Times code in this process, without a server. */
import type { Measurement } from "./suite.ts";

const rounds = 5;

/**
 * Returns the best of five rounds of `count` calls of `run`, as CPU time of this thread, which depends little on other
 * processes, and as a rate. `run` gets the number of the call.
 */
export function bestOf(name: string, count: number, run: (at: number) => void): Measurement {
  let cpuUs = Number.POSITIVE_INFINITY;
  let ms = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const before = process.threadCpuUsage();
    for (let at = 0; at < count; at++) run(round * count + at);
    const used = process.threadCpuUsage(before);
    cpuUs = Math.min(cpuUs, used.user + used.system);
    ms = Math.min(ms, performance.now() - start);
  }
  return { name, rate: (count * 1000) / ms, cpuUsPerOp: cpuUs / count };
}
