/** Measures what work leaves in memory. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Returns how many bytes of the heap the result of `work` keeps. */
export function retainedBytes(work: () => object): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // what the flag adds
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = [work()];
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  kept.pop(); // the result lives until here
  return bytes;
}

/** Returns a text as it is found in a request: as a part of a path of 60 kB. */
export const partOfPath = (name: string): string =>
  Buffer.alloc(60_000, `/${name}/`)
    .toString("latin1")
    .slice(1, 1 + name.length);
