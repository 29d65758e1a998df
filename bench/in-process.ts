/** Timing of code in this process, without a server. */
import type { Measurement } from "./suite.ts";

const rounds = 5;

/** Time of one call, the best of five rounds of `count` calls; `run` gets the number of its call. */
export function bestOf(name: string, count: number, run: (at: number) => void): Measurement {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let at = 0; at < count; at++) run(round * count + at);
    best = Math.min(best, ((performance.now() - start) / count) * 1000);
  }
  return { name, rate: 1e6 / best, cpuUsPerOp: best };
}
